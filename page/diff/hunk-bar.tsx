import type { ComponentChildren } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";
import type { Change, Vote } from "../api/types.ts";
import { wordOnHunk } from "../model/hunks.ts";
import type { PlanModel } from "../model/plan-model.ts";
import { sayOfHunk } from "../model/review.ts";
import type { Hunk } from "./patch.ts";

interface HunkBarProps {
  readonly model: PlanModel;
  readonly change: Change;
  readonly hunks: readonly Hunk[];
  /** Which of them. */
  readonly at: number;
}

/** The heading of a hunk, with what can be said of it alone. */
export function HunkBar({ model, change, hunks, at }: HunkBarProps): ComponentChildren {
  const { id = "", after, lines } = hunks[at] as Hunk;
  const isChosen = model.hunk.value === at;
  const element = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => {
    // The first is chosen when the file comes, and is in view already.
    if (isChosen && model.hunkSteps.value > 0) element.current?.scrollIntoView({ block: "start" });
  }, [isChosen, model.hunkSteps.value]);
  const word = wordOnHunk(change, id);
  const last = after + Math.max(0, lines.filter(({ kind }) => kind !== "deleted").length - 1);
  const button = (meant: Vote, text: string, sign: string) => (
    <button
      type="button"
      class={`${meant} ${word === meant ? "said" : ""}`}
      aria-pressed={word === meant}
      aria-label={`${text} hunk ${at + 1}`}
      onClick={() => {
        model.hunk.value = at;
        void sayOfHunk(model, change, id, meant);
      }}
    >
      {sign} {text}
    </button>
  );
  return (
    <div class={`hunk-bar ${word ?? ""} ${isChosen ? "chosen" : ""}`} ref={element}>
      <span class="hunk-name">
        Hunk {at + 1} of {hunks.length}
      </span>
      <span class="hunk-place">{last > after ? `lines ${after}–${last}` : `line ${after}`}</span>
      {button("approved", "Approve", "✓")}
      {button("rejected", "Reject", "✗")}
    </div>
  );
}

/** How far the review of the hunks is. */
export function HunkCounts({ change, ids }: { readonly change: Change; readonly ids: readonly string[] }) {
  const count = (word: Vote) => ids.filter((id) => wordOnHunk(change, id) === word).length;
  const rejected = count("rejected");
  return (
    <p class="hunk-counts" role="status">
      {count("approved")} of {ids.length} hunks approved{rejected > 0 && `, ${rejected} rejected`}
      <span class="hunk-keys">
        <kbd>n</kbd> <kbd>p</kbd> next, previous · <kbd>h</kbd> approve · <kbd>H</kbd> reject
      </span>
    </p>
  );
}
