import type { ComponentChildren } from "preact";
import { isOver } from "../../src/core/plan.ts";
import { Activity } from "../history/activity.tsx";
import { Checkpoints } from "../history/checkpoints.tsx";
import { type ListRow, widerThan, wordOf } from "../model/change-list.ts";
import type { PlanModel } from "../model/plan-model.ts";
import { addressOf, TABS, type Tab } from "../model/route.ts";
import { LandingView } from "../outcome/landing-view.tsx";
import { amount, counted } from "../text/amounts.ts";
import { Shown } from "../text/shown.tsx";
import { ChangeListView } from "./change-list-view.tsx";
import { Decisions } from "./decision.tsx";
import { FileView } from "./file-view.tsx";
import { Outside } from "./outside.tsx";
import { TableGroup } from "./table-group.tsx";
import { Votes } from "./votes.tsx";

const TITLES: { readonly [tab in Tab]: string } = {
  changes: "Changes",
  activity: "Activity",
  checkpoints: "Checkpoints",
  outside: "Outside",
};

interface PlanPageProps {
  readonly model: PlanModel;
  readonly tab: Tab;
}

/** One plan. */
export function PlanPage({ model, tab }: PlanPageProps): ComponentChildren {
  return (
    <div class="plan">
      <PlanHead model={model} tab={tab} />
      <Notices model={model} />
      <LandingView model={model} />
      {tab === "changes" && <Changes model={model} />}
      {tab === "activity" && <Activity model={model} />}
      {tab === "checkpoints" && <Checkpoints model={model} />}
      {tab === "outside" && <Outside model={model} />}
    </div>
  );
}

function PlanHead({ model, tab }: PlanPageProps): ComponentChildren {
  const plan = model.plan.value;
  const stats = model.diff.value?.stats;
  return (
    <div class="plan-head">
      <h1>{plan === undefined ? "…" : <Shown text={plan.name} />}</h1>
      <p class="summary">
        {plan !== undefined && <span class={`state ${plan.state}`}>{plan.state}</span>}
        {stats !== undefined && (
          <span>
            {counted(model.total.value, "change")} <span class="plus">+{amount(stats.insertions)}</span>{" "}
            <span class="minus">−{amount(stats.deletions)}</span>
          </span>
        )}
        {plan !== undefined && <span>{counted(plan.resources.length, "resource")}</span>}
        <Said model={model} />
      </p>
      <nav class="tabs" aria-label="Sides of the plan">
        {TABS.map((each) => (
          <a
            key={each}
            href={addressOf({ page: "plan", plan: model.id, tab: each })}
            aria-current={each === tab ? "page" : undefined}
          >
            {TITLES[each]}
          </a>
        ))}
      </nav>
      <Decisions model={model} />
    </div>
  );
}

/** How far the review is. */
function Said({ model }: { readonly model: PlanModel }): ComponentChildren {
  const changes = model.changes.value;
  if (changes.length === 0) return null;
  const words = Map.groupBy(changes, wordOf);
  const count = (word: ReturnType<typeof wordOf>) => words.get(word)?.length ?? 0;
  const unseen = changes.filter(({ seen }) => !seen).length;
  return (
    <span>
      {amount(count("approved"))} approved{count("partly") > 0 && `, ${amount(count("partly"))} partly`},{" "}
      {amount(count("rejected"))} rejected, {amount(count(undefined))} undecided
      {unseen > 0 && `, ${amount(unseen)} not seen`}
    </span>
  );
}

/** What a reviewer must not overlook. */
function Notices({ model }: { readonly model: PlanModel }): ComponentChildren {
  const plan = model.plan.value;
  const waiting = (model.diff.value?.selfRunning ?? []).filter(({ needsWord }) => needsWord);
  return (
    <div class="notices">
      {model.failure.value !== undefined && (
        <p class="warning" role="alert">
          <Shown text={model.failure.value} />
        </p>
      )}
      {model.hasMoved.value && (
        <p class="moved" role="status">
          The changes have moved since you opened the plan; what you see is how they are now.{" "}
          <button
            type="button"
            onClick={() => {
              model.hasMoved.value = false;
            }}
          >
            I have seen it
          </button>
        </p>
      )}
      {waiting.length > 0 && (
        <p class="warning">
          Tools run {counted(waiting.length, "file")} of these by themselves: nothing lands without your word
          on each.
        </p>
      )}
      {plan?.resources
        .flatMap((resource) =>
          [resource.error, ...(resource.notes ?? [])].flatMap((note) =>
            note === undefined ? [] : [{ note, name: resource.name }],
          ),
        )
        .map(({ note, name }) => (
          <p class="note" key={note}>
            <Shown text={name} />: <Shown text={note} />
          </p>
        ))}
    </div>
  );
}

function Changes({ model }: { readonly model: PlanModel }): ComponentChildren {
  const plan = model.plan.value;
  if (plan === undefined) return <p class="empty">Reading…</p>;
  if (plan.state !== "open")
    return (
      <p class="empty">
        The plan is {plan.state}: {isOver(plan) ? "there is nothing left to land" : "something works on it"}.
      </p>
    );
  if (model.diff.value !== undefined && model.total.value === 0)
    return <p class="empty">The plan changes nothing.</p>;
  return (
    <div class="panes">
      <ChangeListView model={model} />
      <Selected model={model} row={model.selectedRow.value} />
    </div>
  );
}

function Selected({ model, row }: { readonly model: PlanModel; readonly row: ListRow | undefined }) {
  if (row === undefined)
    return <p class="empty">{model.isLoading.value ? "Reading…" : "Nothing matches."}</p>;
  if (row.row === "change") return <FileView model={model} item={row.item} />;
  const { group } = row;
  return (
    <article class="file" aria-label="The selected group">
      <header>
        <h2>
          <Shown text={group.title} />
        </h2>
        <p class="facts">{counted(group.items.length, "entry", "entries")}</p>
        <Votes model={model} items={group.items} what="all of it" />
        {widerThan(group, model.items.value).map(({ what, items }) => (
          <Votes key={what} {...{ model, items }} what={`${what} (${amount(items.length)})`} isWithoutKeys />
        ))}
      </header>
      <TableGroup model={model} group={group} />
    </article>
  );
}
