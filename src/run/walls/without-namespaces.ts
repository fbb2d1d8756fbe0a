import { UnsupportedError } from "../../core/errors/errors.ts";
import { displayPath } from "../../core/paths/byte-path.ts";
import { namespaceRemedy } from "../../system/mount/namespaces.ts";
import { landlockVersion } from "../../system/walls/landlock.ts";
import { SINCE_SCOPES } from "../../system/walls/landlock-rights.ts";
import { firstPlace } from "./places.ts";

/**
 * How commands run, by what the machine allows; the first row that holds counts:
 *
 * | namespaces | Landlock | the command                                                       |
 * | ---------- | -------- | ----------------------------------------------------------------- |
 * | yes        |          | in namespaces of its own, with a view (run/view)                  |
 * | no         | yes      | on the machine as it is, inside walls; never with `strict`        |
 * | no         | no       | without walls if the user asked for that (`unconfined`), else not |
 *
 * There is no probe besides the attempt: the launcher starts with namespaces, and says if it can have none.
 */
export type Confinement = "walls" | "nothing";

type Places = Parameters<typeof firstPlace>[0];

interface Wishes {
  readonly strict?: boolean;
  readonly unconfined?: boolean;
}

/** How to run a command for which namespaces were refused. Throws if it must not run. */
export function confinementAfter(
  refusal: UnsupportedError,
  { strict, unconfined }: Wishes,
  version = landlockVersion(),
): Confinement {
  const why = reasonOf(refusal);
  const details = { why, remedy: namespaceRemedy() };
  if (strict === true)
    throw new UnsupportedError(
      `A strict command can't be run here: without namespaces (${why}) nothing hides the sockets of daemons.`,
      { code: "NOT_CONFINED", details: { ...details, strict } },
    );
  if (version > 0) return "walls";
  if (unconfined === true) return "nothing";
  throw new UnsupportedError(
    `The command can't be confined here: there are no namespaces (${why}), and this kernel has no Landlock.`,
    { code: "NOT_CONFINED", details },
  );
}

/** One sentence or two for the user: what is weaker than usual. */
export function weakness(refusal: UnsupportedError, confinement: Confinement, entered: Places): string {
  const place = displayPath(firstPlace(entered));
  const start = `There are no namespaces here (${reasonOf(refusal)}), so the command works at ${place}`;
  if (confinement === "nothing") return `${start}, without walls: it can change everything that you can.`;
  const signals = landlockVersion() < SINCE_SCOPES ? " and signal your processes" : "";
  return `${start}, and Landlock keeps it from writing elsewhere. It can read the rest${signals}, and change modes, owners and times there.`;
}

/** What doctor says about this way. */
export function confinementDetail(refusal: UnsupportedError): string {
  const remedy = namespaceRemedy();
  const helps = remedy === undefined ? "" : `; for more, ${remedy}`;
  return `commands run with Landlock (version ${landlockVersion()}), without namespaces: ${reasonOf(refusal)}${helps}`;
}

function reasonOf(refusal: UnsupportedError): string {
  return String(refusal.details["why"]);
}
