import type { ComponentChildren } from "preact";
import { useEffect } from "preact/hooks";
import { changeNotes } from "../../src/cli/render/plan/change-notes.ts";
import type { Change } from "../api/types.ts";
import { Binary } from "../diff/binary.tsx";
import { TableDiff } from "../diff/table-diff.tsx";
import { TextDiff } from "../diff/text-diff.tsx";
import type { Listed } from "../model/change-list.ts";
import type { PlanModel } from "../model/plan-model.ts";
import { attempt } from "../model/review.ts";
import { counted } from "../text/amounts.ts";
import { Shown } from "../text/shown.tsx";
import { CommentQuestion, Comments } from "./comments.tsx";
import { isInTables, RowsOfStatement } from "./table-group.tsx";
import { Votes } from "./votes.tsx";

/** A change that is shown for so long was looked at. */
const LOOK_MS = 1000;

/** One change: what it is, what to know about it, and its content. */
export function FileView({
  model,
  item,
}: {
  readonly model: PlanModel;
  readonly item: Listed;
}): ComponentChildren {
  const { change, rename } = item;
  useEffect(() => {
    model.line.value = {};
    const looked = setTimeout(() => void attempt(() => model.look(item)), LOOK_MS);
    return () => clearTimeout(looked);
  }, [model, item.key, change.digest]);
  const comments = model.comments.value.filter(
    (each) => each.resource === change.resource && each.path === change.path,
  );
  const isText = isTextDiff(change) && rename === undefined;
  // A comment on a line that is not there any more must not vanish.
  const above = isText
    ? comments.filter(({ line, digest }) => line === undefined || digest !== change.digest)
    : comments;
  const commenting = model.commenting.value;
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
            <bdi key={note}>{note}</bdi>
          ))}
        </p>
        {(change.warnings ?? []).map((warning) => (
          <p class="warning" key={warning}>
            <Shown text={warning} />
          </p>
        ))}
        <Votes model={model} items={[item]} what={change.kind} />
        <Comments model={model} comments={above} />
      </header>
      {commenting !== undefined && (
        <CommentQuestion
          model={model}
          place={commenting}
          onClose={() => {
            model.commenting.value = undefined;
          }}
        />
      )}
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
  const { kind, statement } = change;
  if (statement !== undefined)
    return (
      <>
        <pre class="statement">
          <Shown text={statement} />
        </pre>
        {kind === "row" && <RowsOfStatement {...{ model, change }} />}
      </>
    );
  if (isRenamed) return <p class="empty">Its content, mode and owner are the same as before.</p>;
  if (isTextDiff(change))
    return <TextDiff model={model} change={change} key={`${change.resource} ${change.path}`} />;
  if (isInTables(model, change.resource))
    return (
      <TableDiff
        {...{ plan: model.id, resource: change.resource, path: change.path }}
        version={change.digest}
        isOneRow={kind === "row"}
        key={`${change.resource} ${change.path}`}
      />
    );
  if (hasOtherContent(change))
    return <Binary plan={model.id} change={change} key={`${change.resource} ${change.path}`} />;
  return <p class="empty">The line above says all there is to this change.</p>;
}

/** Files that are not text, that are too large to be compared by line, or of which one side is gone. */
function hasOtherContent({ kind, binary = false, before, after }: Change): boolean {
  if (kind !== "file") return false;
  return binary || (before?.digest ?? before?.size ?? 0) !== (after?.digest ?? after?.size ?? 0);
}

function isTextDiff({ kind, binary = false, insertions = 0, deletions = 0 }: Change): boolean {
  return kind === "file" && !binary && insertions + deletions > 0;
}
