import { displayPath } from "../../../core/paths/byte-path.ts";
import type { AwaitedHost } from "../../../core/resource/awaited-host.ts";
import { splitHost } from "../../../core/resource/host-location.ts";
import type { DetachedView, PlanResourceView, PlanView } from "../../../plans/plan-views.ts";
import { oneLine } from "../../terminal/printable.ts";
import type { Styles } from "../styles.ts";
import { textTable } from "../text-table.ts";
import { lastingText } from "./apply-lines.ts";

/** Plans as a table. */
export function planListLines(plans: readonly PlanView[], styles: Styles): readonly string[] {
  if (plans.length === 0) return ["There are no plans. Make one with 'drydock plan create'."];
  const hasLabels = plans.some(({ labels }) => labels !== undefined);
  const hasHosts = plans.some(({ host }) => host !== undefined);
  const titles = [
    ...["ID", "NAME", "STATE", "CREATED"],
    ...(hasHosts ? ["MADE ON"] : []),
    "RESOURCES",
    ...(hasLabels ? ["LABELS"] : []),
  ];
  const headings = titles.map((text) => ({
    text,
    style: styles.dim,
  }));
  const rows = plans.map((plan) => [
    plan.id,
    displayPath(plan.name),
    { text: stateInList(plan), style: plan.state === "open" ? styles.green : styles.dim },
    plan.createdAt,
    ...(hasHosts ? [plan.host ?? "this host"] : []),
    plan.resources.map(resourceText).join(", "),
    labelsText(plan),
  ]);
  return textTable([headings, ...rows]);
}

/** A resource in a list: its name, and its host if that is another one. */
function resourceText({ name, location }: PlanResourceView): string {
  const host = splitHost(location)?.host;
  return host === undefined ? displayPath(name) : `${displayPath(name)} on ${host}`;
}

/** All that is known about one plan. */
export function planLines(plan: PlanView, styles: Styles): readonly string[] {
  const facts: readonly (readonly [string, string])[] = [
    ["id", plan.id],
    ["name", displayPath(plan.name)],
    ["state", stateOf(plan)],
    ["created", plan.createdAt],
    ...(plan.host === undefined ? [] : [["made on", plan.host] as const]),
    ...(plan.message === undefined ? [] : [["message", oneLine(plan.message)] as const]),
    ...(plan.labels === undefined ? [] : [["labels", labelsText(plan)] as const]),
    ...(plan.detached === undefined ? [] : [["detached", detachedText(plan.detached)] as const]),
    ...(plan.undo === undefined ? [] : [["undo", undoText(plan.undo)] as const]),
    ...(plan.stays ?? []).map((stays) => ["stays", lastingText(stays)] as const),
    ...(plan.waits ?? []).map((host) => ["waits for", awaitedLine(host)] as const),
  ];
  return [
    ...textTable(facts.map(([fact, value]) => [{ text: fact, style: styles.dim }, value])),
    ...inTree(plan.resources).flatMap(({ resource, depth }) => [
      "",
      ...resourceLines(resource, styles).map((line, at) => `${indent(depth, at === 0)}${line}`),
    ]),
  ];
}

/** Resources in the order of a tree: nested ones follow the resource that contains them. */
function inTree(
  resources: readonly PlanResourceView[],
  parent?: string,
  depth = 0,
): readonly { readonly resource: PlanResourceView; readonly depth: number }[] {
  return resources
    .filter((resource) => resource.parent === parent)
    .flatMap((resource) => [{ resource, depth }, ...inTree(resources, resource.name, depth + 1)]);
}

function indent(depth: number, isName: boolean): string {
  if (depth === 0) return "";
  return `${"   ".repeat(depth - 1)}${isName ? "└─ " : "   "}`;
}

/** A resource of a plan: its type, location, strategy with the reason, and sandbox. */
export function resourceLines(resource: PlanResourceView, styles: Styles): readonly string[] {
  const {
    name,
    type,
    location,
    strategy,
    why,
    status,
    error,
    restarted,
    notes = [],
    linksOut = [],
    path,
  } = resource;
  const facts: readonly (readonly [string, string])[] = [
    ["original", `${displayPath(location)} (${type})`],
    ["strategy", `${strategy}: ${oneLine(why)}`],
    ["sandbox", path === null ? status : `${displayPath(path)} (${status})`],
    ...(error === undefined ? [] : [["error", oneLine(error)] as const]),
    ...(restarted ? [["restarted", RESTARTED] as const] : []),
    ...notes.map((note) => ["note", oneLine(note)] as const),
    ...linksOut.map((link, at) => [at === 0 ? "leads out" : "", linkText(link)] as const),
  ];
  const rows = facts.map(([fact, value]) => [
    { text: fact, style: fact === "error" ? styles.red : styles.dim },
    value,
  ]);
  return [styles.bold(displayPath(name)), ...textTable(rows).map((line) => `  ${line}`)];
}

function linkText({ path, target }: { readonly path: string; readonly target: string }): string {
  return `${displayPath(path)} -> ${displayPath(target)} (a program at the sandbox's path follows it)`;
}

const RESTARTED =
  "the machine was restarted since; work that was not on disk then may be missing (apply --after-restart)";

/** A host that the plan waits for: what it has to do, since when, and whether it is up. */
function awaitedLine({ host, resources, to, since, isUp, hostSince }: AwaitedHost): string {
  const what = `${host} to ${to} ${resources.map(oneLine).join(", ")}`;
  const long = since === undefined ? "" : ` since ${since}`;
  const state = hostSince === undefined ? "never started" : `${isUp ? "up" : "not up"} since ${hostSince}`;
  return `${what}${long}; it is ${state}`;
}

function undoText(undo: NonNullable<PlanView["undo"]>): string {
  if (!("until" in undo)) return `not possible: ${oneLine(undo.not)}`;
  const without = undo.leaving?.map((name) => ` --leave ${oneLine(name)}`).join("");
  return `possible until ${undo.until}${without === undefined ? "" : `, with${without}`}`;
}

function detachedText({ command, since, pid, endedAt, exitCode, run }: DetachedView): string {
  const words = `'${oneLine(command)}'`;
  if (pid !== undefined) return `${words} runs since ${since} (pid ${pid}; drydock attach)`;
  if (endedAt === undefined) return `${words} was killed; it ran since ${since}`;
  const more = run === undefined ? "" : `, and its run with ${run.exitCode} (drydock attach says why)`;
  return `${words} ended at ${endedAt}, with exit code ${exitCode}${more}`;
}

function labelsText({ labels = {} }: PlanView): string {
  return Object.entries(labels)
    .map(([key, value]) => oneLine(`${key}=${value}`))
    .join(", ");
}

function stateInList(plan: PlanView): string {
  const hosts = (plan.waits ?? []).map(({ host }) => host);
  return hosts.length === 0 ? stateOf(plan) : `${stateOf(plan)}, waits for ${hosts.join(" and ")}`;
}

function stateOf({ state, readOnly, review }: PlanView): string {
  const more = [...(readOnly ? ["read-only"] : []), ...(review === "asked" ? ["waiting for review"] : [])];
  return [state, ...more].join(", ");
}
