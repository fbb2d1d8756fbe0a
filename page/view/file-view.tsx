import type { ComponentChildren } from "preact";
import { changeNotes } from "../../src/cli/render/plan/change-notes.ts";
import type { Change } from "../api/types.ts";
import { TextDiff } from "../diff/text-diff.tsx";
import type { Listed } from "../model/change-list.ts";
import type { PlanModel } from "../model/plan-model.ts";
import { counted } from "../text/amounts.ts";
import { Shown } from "../text/shown.tsx";

/** One change: what it is, what to know about it, and its content. */
export function FileView({
  model,
  item,
}: {
  readonly model: PlanModel;
  readonly item: Listed;
}): ComponentChildren {
  const { change, rename } = item;
  return (
    <article class="file" aria-label="The selected change">
      <header>
        <h2>
          <Shown text={change.path === "." ? change.resource : change.path} />
        </h2>
        <p class="facts">
          <span class={`operation ${change.operation}`}>
            {rename === undefined ? change.operation : "renamed"}
          </span>
          {rename !== undefined && (
            <span>
              from <Shown text={rename.from} />
              {rename.entries !== undefined && ` with ${counted(rename.entries, "entry", "entries")} in it`}
            </span>
          )}
          <span class="resource">
            in <Shown text={change.resource} />
          </span>
          {changeNotes(change).map((note) => (
            <span key={note}>{note}</span>
          ))}
        </p>
        {(change.warnings ?? []).map((warning) => (
          <p class="warning" key={warning}>
            <Shown text={warning} />
          </p>
        ))}
      </header>
      <Content model={model} change={change} isRenamed={rename !== undefined} />
    </article>
  );
}

interface ContentProps {
  readonly model: PlanModel;
  readonly change: Change;
  readonly isRenamed: boolean;
}

function Content({ model, change, isRenamed }: ContentProps): ComponentChildren {
  const { kind, statement, binary = false, insertions = 0, deletions = 0 } = change;
  if (statement !== undefined)
    return (
      <pre class="statement">
        <Shown text={statement} />
      </pre>
    );
  if (isRenamed) return <p class="empty">Its content, mode and owner are the same as before.</p>;
  if (kind === "file" && !binary && insertions + deletions > 0)
    return <TextDiff plan={model.id} change={change} key={`${change.resource} ${change.path}`} />;
  if (binary) return <p class="empty">The content is not text.</p>;
  return <p class="empty">The line above says all there is to this change.</p>;
}
