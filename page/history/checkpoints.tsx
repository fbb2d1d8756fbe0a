import type { ComponentChildren } from "preact";
import { useEffect, useState } from "preact/hooks";
import { checkpointsOf, restore } from "../api/server.ts";
import type { Checkpoint } from "../api/types.ts";
import type { PlanModel } from "../model/plan-model.ts";
import { attempt } from "../model/review.ts";
import { ago, size } from "../text/amounts.ts";
import { Shown } from "../text/shown.tsx";
import { CheckpointContent } from "./checkpoint-content.tsx";

/** The saved states of the plan, as a line of time, the newest first. */
export function Checkpoints({ model }: { readonly model: PlanModel }): ComponentChildren {
  const [found, setFound] = useState<readonly Checkpoint[] | undefined>(undefined);
  const [wanted, setWanted] = useState<string | undefined>(undefined);
  const moves = model.moves.value;
  useEffect(() => {
    void attempt(async () => {
      setFound(await checkpointsOf(model.id));
      return undefined;
    });
  }, [model, moves]);
  if (found === undefined) return <p class="empty">Reading…</p>;
  if (found.length === 0) return <p class="empty">No state of this plan was saved.</p>;
  const goBack = async ({ id }: Checkpoint) => {
    setWanted(undefined);
    await attempt(async () => {
      await restore(model.id, id);
      return "The sandboxes are as they were then.";
    });
  };
  return (
    <ol class="timeline" aria-label="Checkpoints">
      {found.toReversed().map((checkpoint) => (
        <li key={checkpoint.id}>
          <time dateTime={checkpoint.createdAt} title={checkpoint.createdAt}>
            {ago(checkpoint.createdAt)}
          </time>
          <span class="label">
            <Shown text={labelOf(checkpoint)} />
          </span>
          <span class="size">{size(checkpoint.bytes)}</span>
          {model.plan.value?.state === "open" &&
            (wanted === checkpoint.id ? (
              <button type="button" class="primary" onClick={() => void goBack(checkpoint)}>
                Go back to it: what was done since goes
              </button>
            ) : (
              <button type="button" onClick={() => setWanted(checkpoint.id)}>
                Go back…
              </button>
            ))}
          <CheckpointContent model={model} checkpoint={checkpoint} />
        </li>
      ))}
    </ol>
  );
}

function labelOf({ label, before, automatic }: Checkpoint): string {
  if (label !== undefined) return label;
  if (before !== undefined) return `before ${before}`;
  return automatic ? "saved by itself" : "saved";
}
