import { displayPath } from "../../../core/paths/byte-path.ts";
import type { Services } from "../../../services.ts";
import { oneLine } from "../../terminal/printable.ts";
import type { Styles } from "../styles.ts";
import { textTable } from "../text-table.ts";

type Fleet = NonNullable<Services["fleet"]>;
type Host = Awaited<ReturnType<Fleet["hosts"]>>[number];
type ShownHost = Awaited<ReturnType<Fleet["show"]>>;

/** Hosts as a table; `own` is the one that looks. */
export function hostListLines(hosts: readonly Host[], own: string, styles: Styles): readonly string[] {
  const headings = ["NAME", "STATE", "SINCE", "DRYDOCK", "WAITING"].map((text) => ({
    text,
    style: styles.dim,
  }));
  const rows = hosts.map((host) => [
    host.name === own ? `${host.name} (this one)` : host.name,
    { text: stateOf(host), style: host.isUp ? styles.green : styles.red },
    host.since ?? "",
    host.drydock,
    String(host.waiting),
  ]);
  return textTable([headings, ...rows]);
}

/** All that is known about one host. */
export function hostLines(host: ShownHost, styles: Styles): readonly string[] {
  const since = host.since === undefined ? "" : ` since ${host.since}`;
  const facts: readonly (readonly [string, string])[] = [
    ["name", host.name],
    ["state", `${stateOf(host)}${since}`],
    ["drydock", `${host.drydock} (contract ${host.contract})`],
    ["waiting", `${host.waiting} calls`],
    ...(host.lend.length === 0 ? [["lends", "nothing"] as const] : []),
    ...host.lend.map((lent, at) => [at === 0 ? "lends" : "", lentText(lent)] as const),
    ...host.plans.map(
      ({ planName, planId, state, since: from }, at) =>
        [at === 0 ? "waited for" : "", `${oneLine(planName)} (${planId}) is ${state} since ${from}`] as const,
    ),
  ];
  return textTable(facts.map(([fact, value]) => [{ text: fact, style: styles.dim }, value]));
}

function stateOf({ isUp, isDrained, start }: Host): string {
  const state = isUp ? "up" : start === undefined ? "never started" : "not up";
  return isDrained ? `${state}, drained` : state;
}

function lentText({ location, type, run }: Host["lend"][number]): string {
  const words = [...(type === undefined ? [] : [type]), ...(run ? ["with commands"] : [])];
  return `${displayPath(location)}${words.length === 0 ? "" : ` (${words.join(", ")})`}`;
}
