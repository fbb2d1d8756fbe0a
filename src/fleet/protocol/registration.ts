/**
 * The name of a host belongs to one state directory, and to one copy of it. The directory has an id that was
 * made there once, the id of its last start, and a count of what it has noted. The database keeps these for
 * each name, and a host may start only as their next link:
 *
 *   1. The directory gets the id of a new start, flushed as asked for. No other process ever asks for it.
 *   2. The database takes the start if it is the next one: the last one it knows is one that the directory
 *      may have had before, or is this very one. A copy of a directory whose original has started since is
 *      refused, and so is the original if a copy has: never both.
 *   3. The directory notes that its start was taken. Until then a process that died may have been the last
 *      start: its request may still arrive. So every start that was asked for is one it may have had.
 *
 * This does not tell a copy that was made since the last start from the directory itself. So every look of
 * the host at the database, and every answer, carries the count of its notes, which are flushed before. A
 * copy that lacks one of those is refused. What it may lack then, nobody was told.
 */
export interface Registration {
  readonly directory: string;
  readonly start: string;
  readonly notes: number;
}

/** What a state directory says of itself when its host starts. */
export interface DirectoryState {
  readonly directory: string;
  /** The last start that was taken, and those that were asked for since. */
  readonly earlier: readonly string[];
  readonly start: string;
  readonly notes: number;
}

export type RegistrationProblem =
  /** Another directory has this name. */
  | "other-directory"
  /** Another copy of this directory has started since. */
  | "other-copy"
  /** Things were noted that this copy lacks. */
  | "older-copy";

/** Why a host may not start from this directory. */
export function registrationProblem(
  known: Registration | undefined,
  { directory, earlier, start, notes }: DirectoryState,
): RegistrationProblem | undefined {
  if (known === undefined) return undefined;
  if (known.directory !== directory) return "other-directory";
  if (known.start !== start && !earlier.includes(known.start)) return "other-copy";
  return notes < known.notes ? "older-copy" : undefined;
}

/** What the database knows of a host whose start it has taken. */
export function registered({ directory, start, notes }: DirectoryState): Registration {
  return { directory, start, notes };
}

/** Whether these words come from the last start under this name. All others get no call, and no look. */
export function isCurrent(known: Registration | undefined, from: Registration): boolean {
  return known?.directory === from.directory && known.start === from.start;
}

/** What the database knows after these words. */
export function withNotes(known: Registration, notes: number): Registration {
  return notes > known.notes ? { ...known, notes } : known;
}
