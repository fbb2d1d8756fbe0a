import type { Change, Vote } from "../api/types.ts";

/** The hunks of the change that is shown, if each can have a word of its own. */
export interface ShownHunks {
  /** Of the change, as its hunks were read. */
  readonly digest: string;
  readonly ids: readonly string[];
}

/** A word on a change as a whole, or on some of its hunks. */
export interface HunkVote {
  readonly word: Vote | "none";
  readonly hunks?: readonly string[];
}

/** The word on one hunk: its own, or that on the change. */
export function wordOnHunk({ vote, hunks = {} }: Change, id: string): Vote | undefined {
  return hunks[id] ?? vote;
}

/** A change once a word is said on one of its hunks, and what has to be said for that. */
export function withHunkVote(
  change: Change,
  ids: readonly string[],
  { hunk, word }: { readonly hunk: string; readonly word: Vote | "none" },
): { readonly change: Change; readonly votes: readonly HunkVote[] } {
  const { vote, hunks: _, ...facts } = change;
  const wanted = new Map(ids.map((id) => [id, id === hunk ? word : (wordOnHunk(change, id) ?? "none")]));
  const words = new Set(wanted.values());
  // Where all hunks have one word, the change has it as a whole: with its mode, and all else that it is.
  if (words.size === 1)
    return { change: word === "none" ? facts : { ...facts, vote: word }, votes: [{ word }] };
  const having = (each: Vote | "none") => ids.filter((id) => wanted.get(id) === each);
  const said = Object.fromEntries(
    [...wanted].flatMap(([id, each]) => (each === "none" ? [] : [[id, each] as const])),
  );
  if (vote === undefined || !words.has("none"))
    return {
      change: { ...facts, ...(vote !== undefined && { vote }), hunks: said },
      votes: [{ word, hunks: [hunk] }],
    };
  // Under a word on the whole change no hunk is open: each gets its own instead.
  const votes = (["approved", "rejected"] as const).map((each) => ({ word: each, hunks: having(each) }));
  return {
    change: { ...facts, hunks: said },
    votes: [{ word: "none" }, ...votes.filter(({ hunks }) => hunks.length > 0)],
  };
}
