import type { ComponentChildren } from "preact";
import { useEffect, useState } from "preact/hooks";
import type { CheckResult } from "../../src/core/values/checks.ts";
import { logOf } from "../api/server.ts";
import type { LogEntry } from "../api/types.ts";
import type { PlanModel } from "../model/plan-model.ts";
import { attempt } from "../model/review.ts";
import { CheckOutput, Output } from "../outcome/check-output.tsx";
import { ago } from "../text/amounts.ts";
import { Shown } from "../text/shown.tsx";

/** Everything that happened to the plan, the newest first. */
export function Activity({ model }: { readonly model: PlanModel }): ComponentChildren {
  const [entries, setEntries] = useState<readonly LogEntry[] | undefined>(undefined);
  const moves = model.moves.value;
  useEffect(() => {
    void attempt(async () => {
      setEntries(await logOf(model.id));
      return undefined;
    });
  }, [model, moves]);
  if (entries === undefined) return <p class="empty">Reading…</p>;
  return (
    <ol class="log" aria-label="What happened">
      {entries.toReversed().map((entry, at) => (
        <li key={entries.length - at}>
          <time dateTime={entry.at} title={entry.at}>
            {ago(entry.at)}
          </time>
          <span class="event">{entry.event}</span>
          <Details entry={entry} isCheck={entries[entries.length - at]?.event === "checked"} />
        </li>
      ))}
    </ol>
  );
}

/** Digests and ids say nothing to a reader. */
const OMITTED = new Set(["digest", "digests", "exec", "transaction", "comment", "via", "hunks"]);

interface DetailsProps {
  readonly entry: LogEntry;
  /** The command was a check: the next entry has its output. */
  readonly isCheck: boolean;
}

function Details({ entry: { event, actor, details }, isCheck }: DetailsProps): ComponentChildren {
  if (event === "checked") return <CheckOutput check={details as unknown as CheckResult} />;
  const { command, exitCode, output, ...others } = details as { readonly [name: string]: unknown };
  const rest = Object.entries(others).filter(([name]) => !OMITTED.has(name));
  return (
    <div class="details">
      {typeof command === "string" && (
        <code>
          <Shown text={command} />
        </code>
      )}
      {typeof exitCode === "number" && (
        <span class={exitCode === 0 ? "" : "failed"}>exit code {exitCode}</span>
      )}
      {event === "executed" && !isCheck && output === undefined && <span>its output went to its caller</span>}
      {rest.map(([name, value]) => (
        <span key={name}>
          {name} <Shown text={typeof value === "string" ? value : JSON.stringify(value)} />
        </span>
      ))}
      <span class="actor">
        <Shown text={actor} />
      </span>
      {typeof output === "string" && <FoldedOutput text={output} />}
    </div>
  );
}

/** What a command wrote. A plan may have hundreds of commands, so the lines are made when they are wanted. */
function FoldedOutput({ text }: { readonly text: string }): ComponentChildren {
  const [isOpen, setOpen] = useState(false);
  if (text === "") return <Output text={text} />;
  return (
    <details class="folded-output" onToggle={({ currentTarget }) => setOpen(currentTarget.open)}>
      <summary>Output</summary>
      {isOpen && <Output text={text} />}
    </details>
  );
}
