import type { FileOwnership } from "../../system/data/text-files.ts";

/** The user who runs Drydock. */
export interface User {
  readonly uid: number;
  readonly gid: number;
}

/** Why a user other than this one and root could have written a file; undefined if none could. */
export function whyOthersControl({ uid, gid, mode }: FileOwnership, user: User): string | undefined {
  if (uid !== user.uid && uid !== 0) return `it belongs to another user (uid ${uid})`;
  if ((mode & 0o002) !== 0) return "everybody can write it";
  // Where each user has a private group, new files are writable by that group, which has no other members.
  const groupIsOwn = gid === user.gid && user.gid === user.uid;
  return (mode & 0o020) !== 0 && !groupIsOwn ? `its group (gid ${gid}) can write it` : undefined;
}
