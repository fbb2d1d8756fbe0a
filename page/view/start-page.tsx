import type { ComponentChildren } from "preact";
import type { Plan } from "../api/types.ts";
import { plans } from "../model/review.ts";
import { addressOf } from "../model/route.ts";
import { ago, counted } from "../text/amounts.ts";
import { Shown } from "../text/shown.tsx";

interface Section {
  readonly title: string;
  readonly none: string;
  readonly has: (plan: Plan) => boolean;
}

const LANDED = new Set(["applied"]);
const OVER = new Set(["undone", "cancelled", "abandoned"]);

/** Each plan is in one of them. */
const SECTIONS: readonly Section[] = [
  { title: "Needs attention", none: "", has: (plan) => !isOpen(plan) && !isLanded(plan) && !isOver(plan) },
  { title: "Waiting for review", none: "", has: isWaiting },
  { title: "Open", none: "No plan is being worked on.", has: (plan) => isOpen(plan) && !isWaiting(plan) },
  { title: "Landed", none: "Nothing has landed yet.", has: isLanded },
  { title: "History", none: "", has: isOver },
];

function isWaiting(plan: Plan): boolean {
  return isOpen(plan) && plan.review === "asked";
}

function isOpen({ state, resources }: Plan): boolean {
  return state === "open" && !resources.some(({ error }) => error !== undefined);
}

function isLanded({ state }: Plan): boolean {
  return LANDED.has(state);
}

function isOver({ state }: Plan): boolean {
  return OVER.has(state);
}

/** All plans of this state directory. */
export function StartPage(): ComponentChildren {
  const all = plans.value;
  if (all === undefined) return <p class="empty">Reading the plans…</p>;
  return (
    <div class="start">
      <h1>Plans</h1>
      {SECTIONS.map(({ title, none, has }, at) => {
        const found = all.filter(has);
        if (found.length === 0 && none === "") return null;
        return (
          <section key={title} aria-labelledby={`section-${at}`}>
            <h2 id={`section-${at}`}>
              {title} <span class="count">{found.length}</span>
            </h2>
            {found.length === 0 ? <p class="empty">{none}</p> : <PlanTable plans={found} />}
          </section>
        );
      })}
    </div>
  );
}

function PlanTable({ plans: found }: { readonly plans: readonly Plan[] }): ComponentChildren {
  const newest = [...found].sort((a, b) => b.createdAt.localeCompare(a.createdAt));
  return (
    <ul class="plans">
      {newest.map((plan) => (
        <li key={plan.id}>
          <a href={addressOf({ page: "plan", plan: plan.id, tab: "changes" })}>
            <span class="plan-name">
              <Shown text={plan.name} />
            </span>
            <span class="plan-what">
              <Shown text={plan.message ?? plan.resources.map(({ name }) => name).join(", ")} />
            </span>
            <span class="plan-facts">
              {stateOf(plan)} · {counted(plan.resources.length, "resource")} · {ago(plan.createdAt)}
            </span>
          </a>
        </li>
      ))}
    </ul>
  );
}

/** The section says already what waits. */
function stateOf({ state, review }: Plan): string {
  return review === undefined || review === "asked" ? state : `${state}, ${review}`;
}
