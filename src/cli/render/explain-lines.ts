import { formatDuration } from "../../config/duration.ts";
import { formatSize } from "../../config/size.ts";
import { displayPath } from "../../core/paths/byte-path.ts";
import type { Limits } from "../../core/values/limits.ts";
import type { ExplainedLine, RunExplanation } from "../../run/policy/explain.ts";
import { shortPath } from "./plan/outside-lines.ts";
import { textTable } from "./text-table.ts";

/** What a command would be allowed, as lines: what it is, and what says so. */
export function explainLines(explained: RunExplanation, home: string | undefined): readonly string[] {
  const path = (text: string) => shortPath(text, home);
  const paths = (lines: readonly ExplainedLine[]): readonly Row[] =>
    lines.map((line) => [path(line.path), line.from]);
  const { variables, limits, caches, ownHome } = explained;
  const homes = ownHome === undefined ? [] : [ownHome];
  const shared = `Shares with other plans, up to ${formatSize(caches.limit)} in ${path(caches.folder)}`;
  const parts: readonly (readonly [title: string, rows: readonly Row[]])[] = [
    ["Profiles", explained.profiles.map((name): Row => [name])],
    ["Can change, to land or be thrown away", explained.resources.map((text): Row => [path(text)])],
    ["Of these, lands only with your word", paths(explained.protects)],
    ["Sees a home of the plan's own, with nothing of yours but what is named here", paths(homes)],
    ["Can change for good, at once", paths(explained.kept)],
    ["Can replace for good, when it has ended", paths(explained.writtenBack)],
    [shared, paths(caches.paths)],
    ["Seems to change; goes with the plan", explained.scratch.map((text): Row => [path(text)])],
    ["Can't read", paths(explained.denied)],
    ["Can read all the same", paths(explained.readable)],
    ["Sockets of this machine that it can reach", paths(explained.sockets)],
    [
      "Can reach on the network",
      explained.reachable.map(({ destination, from }): Row => [destination, from]),
    ],
    [
      "Can be reached from this machine",
      explained.published.map(({ address, inside, from }): Row => [`${address}, its port ${inside}`, from]),
    ],
    ["Variables it does not get", variables.dropped.map(({ name, from }): Row => [displayPath(name), from])],
    ["Variables it gets", variables.set.map(({ name, from }): Row => [displayPath(name), from])],
    ["Asked for by the project, not allowed by you", paths(explained.refused)],
    ["Limits", limitRows(limits, explained.limitsFrom)],
  ];
  return [
    ...parts.flatMap(([title, rows]) =>
      rows.length === 0 ? [] : [title, ...textTable(rows).map((line) => `  ${line}`), ""],
    ),
    `Network: ${networkText(explained)}`,
    `Servers of databases that the plan holds: ${databasesText(explained)}`,
    `Channel to Drydock: ${channelText(explained)}`,
    `Sockets of this machine, but for those above: ${explained.strict ? "none" : "none in /run"}`,
    `All else on this machine${ownHome === undefined ? "" : " but your home"} can be read, and not changed.`,
  ];
}

function networkText({ network, networkFrom, reachable }: RunExplanation): string {
  const what = network === "allow" ? (reachable.length === 0 ? "none" : "only what is above") : network;
  return networkFrom === undefined ? what : `${what} (${networkFrom})`;
}

function databasesText({ databases, databasesFrom, network }: RunExplanation): string {
  const what = databases && network !== "none" ? "it can reach them past the plan" : "only through the plan";
  return databasesFrom === undefined ? what : `${what} (${databasesFrom})`;
}

function channelText({ channel, channelFrom }: RunExplanation): string {
  const what = channel ? "it can look at its plan, save it and ask you for a review" : "none";
  return channelFrom === undefined ? what : `${what} (${channelFrom})`;
}

function limitRows(
  { processes, memory, scratch, time }: Limits,
  from: RunExplanation["limitsFrom"],
): readonly Row[] {
  const row = (text: string, line: string | undefined): Row => [text, ...(line === undefined ? [] : [line])];
  return [
    ...(processes === undefined ? [] : [row(`${processes} processes`, from.processes)]),
    ...(memory === undefined ? [] : [row(`${formatSize(memory)} of memory`, from.memory)]),
    ...(scratch === undefined
      ? []
      : [row(`${formatSize(scratch)} written outside of the plan`, from.scratch)]),
    ...(time === undefined ? [] : [row(`${formatDuration(time)} of time`, from.time)]),
  ];
}

type Row = readonly string[];
