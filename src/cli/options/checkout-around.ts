import { isAtOrBelow, parentPath } from "../../core/paths/byte-path.ts";
import { isThere } from "../../system/data/existence.ts";

/**
 * The top folder of the git checkout around a folder. None if the user's home is in that checkout: a plan for
 * one command is not about everything that the user has.
 */
export function checkoutAround(folder: string, home: string | undefined): string | undefined {
  for (let at = folder; at !== "/" && at.startsWith("/"); at = parentPath(at)) {
    if (!isThere(`${at}/.git`)) continue;
    const holdsHome = home !== undefined && isAtOrBelow(home, at);
    return holdsHome ? undefined : at;
  }
  return undefined;
}
