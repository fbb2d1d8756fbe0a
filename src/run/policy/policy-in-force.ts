import { ConfigError } from "../../core/errors/errors.ts";
import { displayPath, isAtOrBelow } from "../../core/paths/byte-path.ts";
import type {
  PolicyLayer,
  PolicyLine,
  PolicyVariable,
  ProfileName,
  RulePair,
} from "../../core/values/run-policy.ts";
import { homeOf } from "../../sandboxes/scratch/caches.ts";
import { Folder } from "../../system/calls/folder.ts";
import { factsOfPath, realPathOf } from "../../system/data/locations.ts";
import { failpoint } from "../../system/failpoints.ts";
import { type CachesInForce, cachesInForce } from "./cache-rules.ts";
import { type NetworkInForce, type NetworkWish, networkInForce } from "./network-policy.ts";
import { ownHomeInForce, withHomeDenied, withoutReadable } from "./own-home.ts";
import { expanded, type PathLine, readablePaths } from "./path-rules.ts";
import { type PortLine, portsInForce } from "./ports.ts";
import { profileLayer } from "./profiles.ts";
import { socketPaths, socketVariables } from "./sockets.ts";
import { deniedBy } from "./variable-rules.ts";

type Environment = { readonly [name: string]: string | undefined };

const POINTS = { make: failpoint("run.persist") };

/** What commands may keep of the home. */
type KeptKey = keyof typeof KEPT;
const KEPT = {
  persist: {
    name: "persist",
    hint: "Name a folder of your home that programs keep their state in: ~/.claude",
  },
  writeBack: { name: "write_back", hint: "Name a file of your home that programs replace: ~/.claude.json" },
} as const;

/** What a command may read, keep and know, put together from all that has a say. */
export interface PolicyInForce {
  readonly profiles: readonly ProfileName[];
  readonly denied: readonly PathLine[];
  /** What can be read in denied folders, and in a home of the plan's own. */
  readonly readable: readonly PathLine[];
  /** The home that commands do not see: they get one of the plan's own in its place. */
  readonly ownHome?: PathLine;
  readonly persisted: readonly PathLine[];
  readonly writtenBack: readonly PathLine[];
  readonly caches: CachesInForce;
  /** What lands only with the user's word. */
  readonly protects: readonly PolicyLine[];
  /** Sockets of the host that commands can reach. */
  readonly sockets: readonly PathLine[];
  /** Variables of the environment that the command does not get. */
  readonly dropped: readonly PolicyLine[];
  readonly set: readonly PolicyVariable[];
  readonly network: NetworkInForce;
  /** Ports of this machine that lead to the command. */
  readonly ports: readonly PortLine[];
  readonly channel: SwitchInForce;
  /** Whether it can reach the servers of databases that its plan holds, past the plan. */
  readonly databases: SwitchInForce;
  /** Lines of a project that ask for more than the user's own config allows. They do not count. */
  readonly refused: readonly PolicyLine[];
}

/** Whether something is on for a command, and the line that says so, if there is one. */
export interface SwitchInForce {
  readonly isOn: boolean;
  readonly from?: string;
}

export interface PolicyRequest {
  readonly layers: readonly PolicyLayer[];
  /** Profiles that the user names for this command. */
  readonly profiles?: readonly ProfileName[];
  /** The profile of its program, if no profile is named. */
  readonly automatic?: ProfileName;
  /** What the user says about the network of this command. */
  readonly network?: NetworkWish | undefined;
  /** Ports that the user publishes for this command. */
  readonly publish?: readonly string[] | undefined;
  readonly environment: Environment;
  /** Paths that belong to the plan, where it has the say. */
  readonly resources: readonly string[];
  /** Folders of Drydock's own: no command may write to them. */
  readonly own: readonly string[];
}

/** The policy of one command. */
export function policyInForce(request: PolicyRequest): PolicyInForce {
  const { environment } = request;
  const home = homeOf(environment);
  const own = ownedBy(request.layers, "user");
  const named = own.findLast(({ profiles }) => profiles !== undefined)?.profiles;
  const automatic = request.automatic === undefined ? [] : [request.automatic];
  const profiles = request.profiles ?? named ?? automatic;
  const ownHome = ownHomeInForce(request.layers, home, request.resources);
  const profile = (name: ProfileName, owner: PolicyLayer["owner"]) =>
    ownHome.line === undefined ? profileLayer(name, owner) : withoutReadable(profileLayer(name, owner));
  const project = ownedBy(request.layers, "project").flatMap((layer) => [
    ...(layer.profiles ?? []).map((name) => withoutKept(profile(name, "project"))),
    layer,
  ]);
  const built = profiles.map((name) => profile(name, "user"));
  const user = [...built, ...own];
  const sets = [user, project].filter((layers) => layers.length > 0);
  const persist = keptLines("persist", user, project);
  const back = keptLines("writeBack", user, project);
  const sockets = socketLines(user, project);
  const persisted = persist.kept.flatMap((line) => keptPath(line, "persist", home, request));
  const read = readablePaths(readRules(sets), home);
  assertSomethingReadable(read.denied);
  // What can be changed must not become read-only.
  const writable = [...persisted.map(({ path }) => path), ...request.resources];
  const isLeft = ({ path }: PathLine) =>
    read.readable.some((line) => line.path === path) || !writable.some((other) => isAtOrBelow(path, other));
  const readable =
    ownHome.line === undefined
      ? read.readable
      : readablePaths(readRules(withHomeDenied(sets)), home).readable.filter(isLeft);
  const { caches, refused } = cachesInForce({
    ...{ profiles: built, own, project, environment, home, persisted, readable },
    resources: request.resources,
  });
  const network = networkInForce(user, project, request.network);
  const ports = keptLines("ports", user, project);
  const databases = databasesInForce(user, project);
  return {
    profiles: [...new Set([...profiles, ...project.flatMap((layer) => layer.profiles ?? [])])],
    denied: read.denied,
    readable,
    ...(ownHome.line !== undefined && { ownHome: ownHome.line }),
    persisted,
    writtenBack: back.kept.flatMap((line) => keptPath(line, "writeBack", home, request)),
    caches,
    protects: [...user, ...project].flatMap(({ protect }) => protect ?? []),
    sockets: socketPaths(sockets.allowed, environment, home),
    dropped: droppedVariables(
      environment,
      sets.map((layers) => mergedRules(layers.map(({ variables }) => variables))),
    ).filter(({ value }) => !socketVariables(sockets.allowed).includes(value)),
    set: [...project, ...user].flatMap(({ variables }) => variables.set),
    network,
    ports: portsInForce(network, ports.kept, request.publish),
    channel: channelInForce(user, project),
    databases: databases.inForce,
    refused: [
      ...[...ownHome.refused, ...persist.refused, ...back.refused, ...refused],
      ...[...sockets.refused, ...network.refused, ...ports.refused, ...databases.refused],
    ],
  };
}

/** Without programs and libraries no command starts. */
function assertSomethingReadable(denied: readonly PathLine[]): void {
  const whole = denied.find(({ path }) => path === "/");
  if (whole === undefined) return;
  const { value, from } = whole;
  const means = value === "/" ? "/ is" : `${displayPath(value)} means / here,`;
  throw new ConfigError(
    `${from}: run.read.deny: ${means} the whole file system, in which no command could start.`,
    { file: fileOf(from), hint: "Name the files and folders that commands must not read, such as ~/.ssh" },
  );
}

/** The file of a line of a policy. */
function fileOf(from: string): string {
  return from.replace(/:\d+:\d+$/, "");
}

function ownedBy(layers: readonly PolicyLayer[], owner: PolicyLayer["owner"]): readonly PolicyLayer[] {
  return layers.filter((layer) => layer.owner === owner);
}

function withoutKept({ persist: _, writeBack: __, caches: ___, ...layer }: PolicyLayer): PolicyLayer {
  return layer;
}

function readRules(sets: readonly (readonly PolicyLayer[])[]): readonly RulePair[] {
  return sets.map((layers) => mergedRules(layers.map(({ read }) => read)));
}

function mergedRules(rules: readonly RulePair[]): RulePair {
  const allow = rules.filter((each) => each.allow !== undefined).flatMap((each) => each.allow ?? []);
  const isListed = rules.some((each) => each.allow !== undefined);
  return { deny: rules.flatMap(({ deny }) => deny), ...(isListed && { allow }) };
}

/** A project's list takes away from the user's; what it adds is refused. */
function keptLines(key: KeptKey | "ports", user: readonly PolicyLayer[], project: readonly PolicyLayer[]) {
  const allowed = user.flatMap((layer) => layer[key] ?? []);
  const lists = project.flatMap(({ [key]: list }) => (list === undefined ? [] : [list]));
  const isIn = (line: PolicyLine, lines: readonly PolicyLine[]) =>
    lines.some(({ value }) => value === line.value);
  return {
    kept: allowed.filter((line) => lists.every((list) => isIn(line, list))),
    refused: lists.flat().filter((line) => !isIn(line, allowed)),
  };
}

/** A project can take away a socket that the user allows, and add none. */
function socketLines(user: readonly PolicyLayer[], project: readonly PolicyLayer[]) {
  const of = (layers: readonly PolicyLayer[], which: "allow" | "deny") =>
    layers.flatMap(({ sockets }) => sockets[which]);
  const denied = new Set(of([...user, ...project], "deny").map(({ value }) => value));
  const allowed = of(user, "allow").filter(({ value }) => !denied.has(value));
  const known = new Set(allowed.map(({ value }) => value));
  return { allowed, refused: of(project, "allow").filter(({ value }) => !known.has(value)) };
}

/** Whichever line says no has the say. */
function channelInForce(user: readonly PolicyLayer[], project: readonly PolicyLayer[]): SwitchInForce {
  const last = (layers: readonly PolicyLayer[]) => layers.findLast(({ channel }) => channel)?.channel;
  const [own, theirs] = [last(user), last(project)];
  if (own?.isOn === false) return own;
  return theirs?.isOn === false ? theirs : { ...(own ?? theirs), isOn: true };
}

/** Only the user's own config can say yes, and a project's no counts. */
function databasesInForce(user: readonly PolicyLayer[], project: readonly PolicyLayer[]) {
  const last = (layers: readonly PolicyLayer[]) => layers.findLast(({ databases }) => databases)?.databases;
  const [own, theirs] = [last(user), last(project)];
  const inForce: SwitchInForce = theirs?.isOn === false ? theirs : (own ?? { isOn: false });
  const isRefused = theirs?.isOn === true && own?.isOn !== true;
  return { inForce, refused: isRefused ? [{ value: "the servers of databases", from: theirs.from }] : [] };
}

/** In a resource the plan has the say: what is written there lands with it. */
function keptPath(
  line: PolicyLine,
  key: KeptKey,
  home: string | undefined,
  { resources, own }: PolicyRequest,
): readonly PathLine[] {
  const written = expanded(line.value, home);
  if (written === undefined || home === undefined) return [];
  const path = realPathOf(written) ?? written;
  const unfit = (why: string) => unfitLine(line, key, why);
  if (!isAtOrBelow(path, home) || path === home)
    throw unfit("is not in your home. What commands write elsewhere can land with a plan");
  const drydocks = own.find((folder) => isAtOrBelow(folder, path) || isAtOrBelow(path, folder));
  if (drydocks !== undefined)
    throw unfit(`would give commands ${displayPath(drydocks)}, which is Drydock's own`);
  if (resources.some((resource) => isAtOrBelow(path, resource) || isAtOrBelow(resource, path))) return [];
  const kind = factsOfPath(path)?.kind;
  if (kind !== undefined && kind !== "directory" && key === "persist")
    throw unfit("is no folder. For a single file there is home.write_back");
  if (kind === "directory" && key === "writeBack")
    throw unfit("is a folder, for which there is home.persist");
  return [{ ...line, path }];
}

function unfitLine({ value, from }: PolicyLine, key: KeptKey, why: string): ConfigError {
  const { name, hint } = KEPT[key];
  const message = `${from}: run.home.${name}: ${displayPath(value)} ${why}.`;
  return new ConfigError(message, { file: fileOf(from), hint });
}

function droppedVariables(environment: Environment, sets: readonly RulePair[]): readonly PolicyLine[] {
  return Object.keys(environment).flatMap((name) => {
    const line = sets.map((set) => deniedBy(name, set)).find((found) => found !== undefined);
    return line === undefined ? [] : [{ value: name, from: line.from }];
  });
}

/** Makes the folders that commands keep, so that there is something to keep: an agent's first login. */
export function makePersisted({ persisted }: PolicyInForce, home: string | undefined): void {
  for (const { path } of persisted)
    if (home !== undefined && factsOfPath(path) === undefined) makeFolders(home, path.slice(home.length + 1));
}

function makeFolders(home: string, path: string): void {
  let folder = Folder.open(home);
  for (const name of path.split("/")) {
    using parent = folder;
    folder = parent.ensureFolder(POINTS.make, name);
  }
  folder.close();
}
