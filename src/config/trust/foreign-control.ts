import type { FileOwnership } from "../../system/data/text-files.ts";

/** Who runs Drydock. */
export interface User {
  readonly uid: number;
  readonly gid: number;
}

/** Says why somebody else than this user and root could have written a file, or undefined if nobody could. */
export function whyOthersControl({ uid, gid, mode }: FileOwnership, user: User): string | undefined {
  if (uid !== user.uid && uid !== 0) return `it belongs to another user (uid ${uid})`;
  if ((mode & 0o002) !== 0) return "everybody can write it";
  // Where each user has a group of their own, new files are writable by that group, which is nobody else.
  const groupIsOwn = gid === user.gid && user.gid === user.uid;
  return (mode & 0o020) !== 0 && !groupIsOwn ? `its group (gid ${gid}) can write it` : undefined;
}
