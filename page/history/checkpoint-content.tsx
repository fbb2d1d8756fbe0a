import type { ComponentChildren } from "preact";
import { useEffect, useState } from "preact/hooks";
import { patchAt, savedChanges } from "../api/server.ts";
import type { Checkpoint, SavedChange, SavedDiff } from "../api/types.ts";
import type { PlanModel } from "../model/plan-model.ts";
import { Output } from "../outcome/check-output.tsx";
import { amount, counted } from "../text/amounts.ts";
import { Shown } from "../text/shown.tsx";

interface ContentProps {
  readonly model: PlanModel;
  readonly checkpoint: Checkpoint;
}

/** What a saved state holds, and what changed since. It is read when the user opens it. */
export function CheckpointContent({ model, checkpoint }: ContentProps): ComponentChildren {
  const [isOpen, setOpen] = useState(false);
  return (
    <details class="held" onToggle={({ currentTarget }) => setOpen(currentTarget.open)}>
      <summary>What it holds</summary>
      {isOpen && <Held model={model} checkpoint={checkpoint} />}
    </details>
  );
}

function Held({ model, checkpoint }: ContentProps): ComponentChildren {
  const { id } = checkpoint;
  const digest = model.diff.value?.digest;
  const found = useRead(() => savedChanges(model.id, id), [model, id, digest]);
  if (found === undefined) return <p class="empty">Reading…</p>;
  if (typeof found === "string") return <Failure text={found} />;
  const { stats, changes, saved } = found;
  const all = stats.added + stats.modified + stats.deleted;
  return (
    <>
      <p>{all === 0 ? "No changes." : `${counted(all, "change")} as of then:`}</p>
      <ul aria-label="Changes as of then">
        {changes.map((change) => (
          <li key={`${change.resource}/${change.path} ${change.kind}`}>
            <HeldChange model={model} checkpoint={checkpoint} change={change} />
          </li>
        ))}
      </ul>
      {all > changes.length && (
        <p>{counted(all - changes.length, "more change is", "more changes are")} not listed here.</p>
      )}
      {(saved?.unlisted ?? []).map((resource) => (
        <p class="warning" key={resource}>
          <Shown text={resource} /> is not listed: its strategy does not tell what a checkpoint holds.
        </p>
      ))}
      {saved !== undefined && <Since since={saved.since} />}
    </>
  );
}

/** A file can be opened, to see its lines; of other things the list says all. */
function HeldChange({
  model,
  checkpoint,
  change,
}: ContentProps & { change: SavedChange }): ComponentChildren {
  const [isOpen, setOpen] = useState(false);
  const { operation, resource, path, kind, note, statement, insertions = 0, deletions = 0 } = change;
  const line = (
    <>
      <span class="operation">{operation}</span>{" "}
      <span class="name">
        <Shown text={path === "." ? resource : `${resource}/${path}`} />
      </span>{" "}
      {kind !== "file" && <span class="kind">{kind} </span>}
      <Shown text={note ?? statement ?? ""} />
      {insertions > 0 && <span class="plus"> +{amount(insertions)}</span>}
      {deletions > 0 && <span class="minus"> −{amount(deletions)}</span>}
    </>
  );
  if (kind !== "file") return line;
  return (
    <details onToggle={({ currentTarget }) => setOpen(currentTarget.open)}>
      <summary>{line}</summary>
      {isOpen && <HeldLines model={model} checkpoint={checkpoint} change={change} />}
    </details>
  );
}

function HeldLines({ model, checkpoint, change }: ContentProps & { change: SavedChange }): ComponentChildren {
  const { resource, path } = change;
  const text = useRead(
    () => patchAt(model.id, change, checkpoint.id),
    [model, resource, path, checkpoint.id],
  );
  return text === undefined ? <p class="empty">Reading…</p> : <Output text={text} />;
}

const SINCE = { new: "only now", changed: "not the same now", gone: "only then" } as const;

function Since({ since }: { readonly since: NonNullable<SavedDiff["saved"]>["since"] }): ComponentChildren {
  const all = since.new + since.changed + since.gone;
  if (all === 0) return <p>Nothing changed since then.</p>;
  return (
    <>
      <p>{counted(all, "change is", "changes are")} not the same now:</p>
      <ul aria-label="Changed since then">
        {since.changes.map(({ resource, path, kind, since: how }) => (
          <li key={`${resource}/${path} ${kind}`}>
            <span class="operation">{SINCE[how]}</span>{" "}
            <span class="name">
              <Shown text={path === "." ? resource : `${resource}/${path}`} />
            </span>
          </li>
        ))}
      </ul>
      {all > since.changes.length && (
        <p>{counted(all - since.changes.length, "more is", "more are")} not listed here.</p>
      )}
    </>
  );
}

function Failure({ text }: { readonly text: string }): ComponentChildren {
  return (
    <p class="warning">
      <Shown text={text} />
    </p>
  );
}

function messageOf(thrown: unknown): string {
  return thrown instanceof Error ? thrown.message : String(thrown);
}

/** What the server answers, or why it does not. What is shown stays until the next answer is there. */
function useRead<T>(ask: () => Promise<T>, of: readonly unknown[]): T | string | undefined {
  const [found, setFound] = useState<T | string | undefined>(undefined);
  useEffect(() => {
    let isWanted = true;
    const take = (answer: T | string) => isWanted && setFound(() => answer);
    ask().then(take, (thrown: unknown) => take(messageOf(thrown)));
    return () => {
      isWanted = false;
    };
  }, of);
  return found;
}
