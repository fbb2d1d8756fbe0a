import { signal } from "@preact/signals";

/** Where the window is: the start page, or a plan and one of its sides. */
export type Route =
  | { readonly page: "start" }
  | { readonly page: "plan"; readonly plan: string; readonly tab: Tab };

export const TABS = ["changes", "activity", "checkpoints", "outside"] as const;
export type Tab = (typeof TABS)[number];

export const place = signal<Route>({ page: "start" });

/** Follows the address of the window. */
export function followAddress(): void {
  place.value = routeIn(location.hash);
  addEventListener("hashchange", () => {
    place.value = routeIn(location.hash);
  });
}

export function addressOf(wanted: Route): string {
  if (wanted.page === "start") return "#/";
  return `#/plan/${wanted.plan}${wanted.tab === "changes" ? "" : `/${wanted.tab}`}`;
}

export function go(wanted: Route): void {
  location.hash = addressOf(wanted);
}

function routeIn(hash: string): Route {
  const [, plan, name] = /^#\/plan\/(\w+)(?:\/(\w+))?$/.exec(hash) ?? [];
  if (plan === undefined) return { page: "start" };
  return { page: "plan", plan, tab: TABS.find((tab) => tab === name) ?? "changes" };
}
