import type { ComponentChildren } from "preact";
import type { Vote } from "../api/types.ts";
import { type Listed, voteOn } from "../model/change-list.ts";
import type { PlanModel } from "../model/plan-model.ts";
import { say } from "../model/review.ts";

interface VotesProps {
  readonly model: PlanModel;
  readonly items: readonly Listed[];
  /** What they are: "file", "folder". */
  readonly what: string;
  /** Whether the keys are for another choice on the page. */
  readonly isWithoutKeys?: boolean;
}

/** The buttons that approve or reject a file, a folder or a resource. */
export function Votes({ model, items, what, isWithoutKeys = false }: VotesProps): ComponentChildren {
  const now = voteOn(items);
  const button = (word: Vote, text: string, key: string) => (
    <button
      type="button"
      class={`${word} ${now === word ? "said" : ""}`}
      aria-pressed={now === word}
      onClick={() => void say(model, items, word)}
    >
      {text} {what} {!isWithoutKeys && <kbd>{key}</kbd>}
    </button>
  );
  return (
    <p class="votes">
      {button("approved", "Approve", "a")}
      {button("rejected", "Reject", "x")}
    </p>
  );
}
