import type { ComponentChildren } from "preact";
import { useRef, useState } from "preact/hooks";
import { type Decision, decide } from "../api/server.ts";
import type { SelfRunning } from "../api/types.ts";
import { wordOf } from "../model/change-list.ts";
import { dialog } from "../model/keys.ts";
import type { PlanModel } from "../model/plan-model.ts";
import { attempt, model as current, decided } from "../model/review.ts";
import { counted } from "../text/amounts.ts";
import { Shown } from "../text/shown.tsx";
import { Question, TextQuestion } from "./dialogs.tsx";

const close = () => {
  dialog.value = undefined;
};

async function end(decision: Decision, words: string): Promise<void> {
  const isDone = await attempt(async () => {
    await decide(decision);
    return undefined;
  });
  close();
  if (isDone) decided.value = words;
  else void current.value?.load();
}

/** The question that is open, if one is. */
export function OpenQuestion(): ComponentChildren {
  const model = current.value;
  if (dialog.value === "close") return <CloseQuestion />;
  if (model === undefined) return null;
  if (dialog.value === "approve") return <WordQuestion model={model} {...APPROVE} />;
  if (dialog.value === "apply") return <WordQuestion model={model} {...LAND} />;
  if (dialog.value === "take out") return <TakeOutQuestion model={model} />;
  return dialog.value === "changes" ? <ChangesQuestion model={model} /> : null;
}

interface Word {
  readonly title: string;
  readonly explanation: string;
  readonly button: string;
  readonly act: (
    model: PlanModel,
    what: { readonly digest: string; readonly allow: readonly string[] },
  ) => Promise<void>;
}

const APPROVE: Word = {
  title: "Approve exactly these changes?",
  explanation: "The approval counts for what you see here. If the plan moves, it is void.",
  button: "Approve",
  act: async ({ id }, what) => await end({ verdict: "approved", plan: id, ...what }, "Approved."),
};

const LAND: Word = {
  title: "Land what is approved, now?",
  explanation:
    "Changes that you approved one by one land together, and the others stay in the plan; without such a word, all of it lands. All that lands does, or nothing.",
  button: "Land it",
  act: async (model, what) => {
    close();
    await attempt(() => model.landing.land({ ...what, ...approvedPart(model) }));
  },
};

/** What lands: exactly what votes approve; without any vote, everything. */
function approvedPart(model: PlanModel): { readonly approvedPart?: true } {
  const hasVotes = model.changes.value.some(({ vote, hunks }) => vote !== undefined || hunks !== undefined);
  return hasVotes ? { approvedPart: true } : {};
}

/** The digest of what the reviewer saw when the question came, or as soon as it is there. */
function useSeenDigest(model: PlanModel): string | undefined {
  const seen = useRef<string | undefined>(undefined);
  seen.current ??= model.diff.value?.digest;
  return seen.current;
}

/** A yes that binds to the digest, with a word for each file that runs by itself. */
function WordQuestion({ model, title, explanation, button, act }: Word & { readonly model: PlanModel }) {
  const digest = useSeenDigest(model);
  const waiting = (model.diff.value?.selfRunning ?? []).filter(({ needsWord }) => needsWord);
  const [allowed, setAllowed] = useState<ReadonlySet<string>>(new Set());
  const stats = model.diff.value?.stats;
  const hasMoved = digest !== undefined && model.diff.value?.digest !== digest;
  const isReady =
    digest !== undefined && !hasMoved && model.isComplete.value && allowed.size === waiting.length;
  return (
    <Question
      {...{ title, isReady, isReading: model.isLoading.value, yes: button, onClose: close }}
      onYes={() => void act(model, { digest: digest ?? "", allow: [...allowed] })}
    >
      {stats !== undefined && (
        <p>
          {counted(stats.added, "addition")}, {counted(stats.modified, "modification")},{" "}
          {counted(stats.deleted, "deletion")}; {counted(stats.insertions, "line")} more,{" "}
          {counted(stats.deletions, "line")} less.
        </p>
      )}
      <p>{explanation}</p>
      <SelfRunningWords {...{ waiting, allowed, setAllowed }} />
      {hasMoved && <p class="warning">The changes have moved since you asked. Close this, and look again.</p>}
    </Question>
  );
}

interface WordsProps {
  readonly waiting: readonly SelfRunning[];
  readonly allowed: ReadonlySet<string>;
  readonly setAllowed: (allowed: ReadonlySet<string>) => void;
}

function SelfRunningWords({ waiting, allowed, setAllowed }: WordsProps): ComponentChildren {
  if (waiting.length === 0) return null;
  const allow = (pattern: string, isAllowed: boolean) => {
    const now = new Set(allowed);
    if (isAllowed) now.add(pattern);
    else now.delete(pattern);
    setAllowed(now);
  };
  return (
    <fieldset class="words">
      <legend>Tools run these by themselves, or a policy protects them. Each needs your word.</legend>
      {waiting.map((file) => (
        <label key={patternOf(file)}>
          <input
            type="checkbox"
            checked={allowed.has(patternOf(file))}
            onChange={(event) => allow(patternOf(file), event.currentTarget.checked)}
          />
          <span>
            <Shown text={`${file.resource}/${file.path}`} />
            <small>
              {file.tool} {file.why}
            </small>
          </span>
        </label>
      ))}
    </fieldset>
  );
}

/** The pattern of this path; in patterns `?` stands for a star of a name. */
function patternOf({ resource, path }: Pick<SelfRunning, "resource" | "path">): string {
  return `${resource}:${path.replaceAll("*", "?")}`;
}

function ChangesQuestion({ model }: { readonly model: PlanModel }): ComponentChildren {
  const [message, setMessage] = useState("");
  const digest = useSeenDigest(model);
  const isReady = digest !== undefined && message.trim() !== "";
  const ask = () => {
    if (isReady) void end({ verdict: "changes", plan: model.id, digest, message }, "You asked for changes.");
  };
  return (
    <TextQuestion
      {...{ isReady, text: message, onText: setMessage, onYes: ask, onClose: close }}
      title="What should change?"
      label="What should change"
      yes="Ask for changes"
    />
  );
}

function TakeOutQuestion({ model }: { readonly model: PlanModel }): ComponentChildren {
  const words = Map.groupBy(model.changes.value, wordOf);
  const [whole, partly] = [words.get("rejected")?.length ?? 0, words.get("partly")?.length ?? 0];
  const what = [
    ...(whole > 0 ? [counted(whole, "rejected change")] : []),
    ...(partly > 0 ? [`the rejected hunks of ${counted(partly, "file")}`] : []),
  ];
  return (
    <Question
      title="Take what is rejected out of the plan?"
      yes="Take it out"
      onYes={() => {
        close();
        void attempt(() => model.landing.takeOutRejected());
      }}
      onClose={close}
    >
      <p>
        {what.join(", and ")}. The sandboxes show the originals there again; the rest of the plan stays. Now
        is saved as a checkpoint first, so you can go back to it.
      </p>
    </Question>
  );
}

function CloseQuestion(): ComponentChildren {
  return (
    <Question
      title="Close the review without a verdict?"
      yes="Close the review"
      onYes={() => void end({ verdict: "closed" }, "Closed without a verdict.")}
      onClose={close}
    >
      <p>The plan stays as it is.</p>
    </Question>
  );
}

/** What can be done with the plan as a whole. */
export function Decisions({ model }: { readonly model: PlanModel }): ComponentChildren {
  const plan = model.plan.value;
  if (plan === undefined) return null;
  const isBusy = model.landing.progress.value !== undefined;
  if (plan.state === "open")
    return (
      <div class="decisions">
        <button type="button" onClick={() => open("changes")}>
          Ask for changes
        </button>
        {model.hasRejected.value && (
          <button type="button" disabled={isBusy} onClick={() => open("take out")}>
            Take rejected out
          </button>
        )}
        <button type="button" disabled={isBusy} onClick={() => open("apply")}>
          Land
        </button>
        <button type="button" class="primary" onClick={() => open("approve")}>
          Approve
        </button>
      </div>
    );
  if (plan.undo === undefined || !("until" in plan.undo)) return null;
  const leave = plan.undo.leaving ?? [];
  return (
    <div class="decisions">
      <button type="button" disabled={isBusy} onClick={() => void attempt(() => model.landing.undo(leave))}>
        {leave.length === 0 ? "Undo" : <Shown text={`Undo all but ${leave.join(", ")}`} />}
      </button>
    </div>
  );
}

function open(what: NonNullable<typeof dialog.value>): void {
  dialog.value = what;
}
