import { UnsupportedError } from "../../core/errors/errors.ts";
import { displayPath, parentPath } from "../../core/paths/byte-path.ts";
import type { PlanRecord } from "../../core/plan.ts";
import { homeOf } from "../../sandboxes/scratch/caches.ts";
import type { Folder } from "../../system/calls/folder.ts";
import { factsOfPath } from "../../system/data/locations.ts";
import { inheritedFileLimit } from "../../system/process/processes.ts";
import { commandEnvironment, resourceVariables } from "../environment.ts";
import type { CommandLauncher, CommandSpec } from "../launch/launcher.ts";
import { startScript } from "../launch/start-script.ts";
import type { CommandPolicy } from "../policy/command-policies.ts";
import { pathInside, refersTo, type ShownSandbox } from "../view/shown-sandbox.ts";
import { inPlace, pathInPlace } from "./places.ts";
import { privateFolders } from "./private-home.ts";
import type { Confinement } from "./without-namespaces.ts";

type Variables = { readonly [name: string]: string | undefined };

/** A command for a machine without namespaces. */
export interface WalledRequest {
  readonly plan: PlanRecord;
  /** The plan's folder. */
  readonly folder: Folder;
  readonly command: readonly string[];
  /** The folder of the host that it should start in. */
  readonly cwd: string;
  readonly shown: readonly ShownSandbox[];
  readonly hidden: readonly string[];
  readonly network: boolean;
  readonly confinement: Confinement;
  /** The user's own. */
  readonly home: string | undefined;
  readonly policy: CommandPolicy;
  readonly variables: Variables;
  /** Whether the kernel should count the processes of the command's own user. */
  readonly countsUser: boolean;
}

/**
 * What Drydock tells the launcher about a command that sees the machine as it is. The command works in the
 * sandboxes, at their own paths. It can write to them and to private folders, which `HOME` and `TMPDIR` name.
 */
export async function walledSpec(
  { tools, terminal }: CommandLauncher,
  request: WalledRequest,
): Promise<CommandSpec> {
  const { plan, folder, policy, network, confinement } = request;
  const { denied, ownHome } = policy;
  const unread = [...denied, ...(ownHome === undefined ? [] : [ownHome])];
  const hidden = [...request.hidden, ...unread.map(({ path }) => path)];
  if (request.countsUser)
    throw new UnsupportedError(
      "A limit of processes can't be kept here: without a user namespace the kernel counts all processes of the user.",
      { hint: "Leave out the limit, or run it where control groups can be made." },
    );
  const places = request.shown.map(inPlace);
  for (const path of hidden) assertNotInPlace(path, places);
  const own =
    confinement === "walls"
      ? await privateFolders(folder, homeOf({ HOME: request.home }), policy)
      : undefined;
  const home = request.home === undefined ? undefined : pathInPlace(request.home, places);
  const environment = commandEnvironment(plan, policy.environment, {
    ...resourceVariables(plan, ({ location }) =>
      location.startsWith("/") ? pathInPlace(location, places) : undefined,
    ),
    // A home that is a resource of the plan is in its sandbox.
    ...(own !== undefined && { HOME: home === request.home ? own.home : home, TMPDIR: own.temporary }),
    ...request.variables,
  });
  const cwd = pathInside(request.cwd, places, (path) => factsOfPath(path)?.kind === "directory");
  const script = startScript({ tools, less: "nothing", environment, terminal });
  const openFiles = inheritedFileLimit();
  return {
    ...(own !== undefined && {
      walls: {
        writable: [
          ...places.map(({ at }) => at),
          ...policy.persisted.map(({ path }) => path),
          ...policy.caches.shared.map(({ stored }) => stored),
          ...[own.home, own.temporary],
        ],
        readable: [...refersTo(request.shown), ...policy.readable.map(({ path }) => path)],
        hidden,
        network,
      },
    }),
    links: places.flatMap(({ link }) =>
      link === undefined ? [] : [{ at: linkPath(link.at, places), to: link.to }],
    ),
    ...(openFiles !== undefined && { openFiles }),
    shell: { file: tools.sh, args: ["-c", script, "drydock", ...request.command] },
    environment: Object.entries({ ...environment.plain, PWD: cwd }).map(
      ([name, value]) => `${name}=${value}`,
    ),
    cwd,
  };
}

/** No rule of Landlock takes back what another one allows around it. */
function assertNotInPlace(hidden: string, places: readonly ShownSandbox[]): void {
  const inside = pathInPlace(hidden, places);
  if (inside === hidden || factsOfPath(inside) === undefined) return;
  throw new UnsupportedError(
    `${displayPath(hidden)} can't be hidden from the command: its sandbox shows all of the folder around it, and this machine allows no mount.`,
    { hint: "Make a plan with another strategy: filesystem_copy works everywhere." },
  );
}

/** Where a link lies, in the sandbox around it. */
function linkPath(at: string, places: readonly ShownSandbox[]): string {
  const folder = parentPath(at);
  return `${pathInPlace(folder, places)}${at.slice(folder.length)}`;
}
