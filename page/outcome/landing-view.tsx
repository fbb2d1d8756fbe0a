import type { ComponentChildren } from "preact";
import type { Resolution } from "../api/types.ts";
import type { Conflict } from "../model/landing-model.ts";
import type { PlanModel } from "../model/plan-model.ts";
import { attempt } from "../model/review.ts";
import { amount, counted } from "../text/amounts.ts";
import { Shown } from "../text/shown.tsx";
import { CheckOutput } from "./check-output.tsx";

/** How many conflicts are shown; all of them are counted. */
const MOST = 200;

/** How far a landing is, and what stands against it. */
export function LandingView({ model }: { readonly model: PlanModel }): ComponentChildren {
  const { progress, conflicts, check } = model.landing;
  return (
    <>
      {progress.value !== undefined && <HowFar model={model} />}
      {check.value !== undefined && (
        <section class="outcome" aria-label="The check that failed">
          <h2>A check failed, so nothing landed</h2>
          <CheckOutput check={check.value} />
        </section>
      )}
      {conflicts.value.length > 0 && <Conflicts model={model} />}
    </>
  );
}

function HowFar({ model }: { readonly model: PlanModel }): ComponentChildren {
  const { task = "working", resource, done = 0, total } = model.landing.progress.value ?? {};
  const counts = total === undefined ? amount(done) : `${amount(done)} of ${amount(total)}`;
  return (
    <div class="how-far" role="status">
      <progress aria-label="How far it is" {...(total !== undefined && { value: done, max: total })} />
      <span>
        {task} {resource !== undefined && <Shown text={resource} />} {done > 0 && counts}
      </span>
    </div>
  );
}

const WORDS: { readonly [how in Resolution]: string } = {
  ours: "Keep the plan's",
  theirs: "Take the original's",
  "keep-both": "Keep both",
};

function Conflicts({ model }: { readonly model: PlanModel }): ComponentChildren {
  const { landing } = model;
  const all = landing.conflicts.value;
  const open = all.filter(({ outcome }) => outcome === undefined);
  const isBusy = landing.progress.value !== undefined;
  return (
    <section class="outcome" aria-label="Conflicts">
      <h2>
        {open.length === 0
          ? "Every conflict is settled: look at the changes again, and land them"
          : `${counted(open.length, "path")} changed in the original too, so nothing landed`}
      </h2>
      <p class="ways">
        {open.length > 0 && (
          <button
            type="button"
            class="primary"
            disabled={isBusy}
            onClick={() => void attempt(() => landing.update())}
          >
            Merge what others changed
          </button>
        )}
        {landing.wayBack.value !== undefined && (
          <button type="button" disabled={isBusy} onClick={() => void attempt(() => landing.goBack())}>
            Take the last step back
          </button>
        )}
        <button type="button" onClick={() => landing.forget()}>
          Close
        </button>
      </p>
      <ul>
        {all.slice(0, MOST).map((conflict) => (
          <ConflictItem key={`${conflict.resource}/${conflict.path}`} {...{ model, conflict }} />
        ))}
      </ul>
      {all.length > MOST && <p>{counted(all.length - MOST, "more path")}.</p>}
    </section>
  );
}

interface ConflictProps {
  readonly model: PlanModel;
  readonly conflict: Conflict;
}

function ConflictItem({ model, conflict }: ConflictProps): ComponentChildren {
  const { resource, path, why, outcome } = conflict;
  const settle = (how: Resolution) =>
    void attempt(async () => {
      await model.landing.resolve(conflict, how);
      return undefined;
    });
  return (
    <li class={outcome === undefined ? "" : "settled"}>
      <span class="conflict-path">
        <Shown text={`${resource}/${path}`} />
      </span>
      <span class="why">
        <Shown text={outcome ?? why} />
      </span>
      {outcome === undefined && (
        <span class="ways">
          {(["ours", "theirs", "keep-both"] as const).map((how) => (
            <button
              key={how}
              type="button"
              disabled={model.landing.progress.value !== undefined}
              aria-label={`${WORDS[how]} of ${path}`}
              onClick={() => settle(how)}
            >
              {WORDS[how]}
            </button>
          ))}
        </span>
      )}
    </li>
  );
}
