import { signal } from "@preact/signals";
import type { Vote } from "../api/types.ts";
import { model, said, say, sayOfHunk } from "./review.ts";
import { go, place, TABS } from "./route.ts";
import { nextTheme, switchLayout } from "./settings.ts";

/** The question or list above the page. */
export const dialog = signal<"help" | "approve" | "changes" | "apply" | "take out" | "close" | undefined>(
  undefined,
);

interface Key {
  readonly keys: readonly string[];
  readonly does: string;
  readonly act: (key: string) => void;
}

/** Every key of the page, in the order in which the help shows them. */
export const KEYS: readonly Key[] = [
  {
    keys: ["j", "k"],
    does: "next or previous change",
    act: (key) => model.value?.step(key === "j" ? 1 : -1),
  },
  {
    keys: ["n", "p"],
    does: "next or previous hunk",
    act: (key) => model.value?.stepHunk(key === "n" ? 1 : -1),
  },
  {
    keys: ["h"],
    does: "approve the hunk that is chosen, or take that back",
    act: () => sayOfChosen("approved"),
  },
  {
    keys: ["H"],
    does: "reject the hunk that is chosen, or take that back",
    act: () => sayOfChosen("rejected"),
  },
  { keys: ["a"], does: "approve what is selected, or take that back", act: () => sayOfSelected("approved") },
  { keys: ["x"], does: "reject what is selected, or take that back", act: () => sayOfSelected("rejected") },
  {
    keys: ["c"],
    does: "comment on the change, or on the line that is chosen",
    act: askForComment,
  },
  { keys: ["↑", "↓"], does: "choose a line, in the changed lines; a row, in the list", act: () => undefined },
  { keys: ["/"], does: "filter the changes", act: () => focus("#filter") },
  { keys: ["l"], does: "go to the list of changes", act: () => focus(".windowed") },
  {
    keys: ["d"],
    does: "go to the changed lines, rows or images",
    act: () => focus(".diff-scroll, .table-diff, .binary"),
  },
  { keys: ["s"], does: "lines side by side, or one below the other", act: switchLayout },
  { keys: ["1", "2", "3", "4"], does: "changes, activity, checkpoints, outside", act: goToTab },
  { keys: ["A"], does: "approve the plan", act: () => ask("approve") },
  { keys: ["R"], does: "ask for changes", act: () => ask("changes") },
  { keys: ["L"], does: "land it now", act: () => ask("apply") },
  { keys: ["X"], does: "take what is rejected out of the plan", act: () => ask("take out") },
  { keys: ["q"], does: "close the review without a verdict", act: () => ask("close") },
  { keys: ["g"], does: "go to the list of plans", act: () => go({ page: "start" }) },
  { keys: ["t"], does: "light, dark, or as the system", act: nextTheme },
  { keys: ["?"], does: "this list", act: () => ask("help") },
];

export function followKeys(): void {
  addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || isWriting(event.target)) return;
    if (document.querySelector("dialog[open]") !== null) return;
    const found = KEYS.find(({ keys }) => keys.includes(event.key));
    if (found === undefined) return;
    event.preventDefault();
    found.act(event.key);
  });
}

function askForComment(): void {
  if (model.value?.selectedRow.value?.row === "group")
    tell("Choose a change: a comment is on one, or on a line of it.");
  else model.value?.askForComment();
}

function tell(text: string): void {
  said.value = { text, isProblem: false };
}

function sayOfSelected(word: Vote): void {
  const row = model.value?.selectedRow.value;
  if (model.value === undefined || row === undefined) return;
  void say(model.value, row.row === "change" ? [row.item] : row.group.items, word);
}

function sayOfChosen(word: Vote): void {
  const [of, row] = [model.value, model.value?.selectedRow.value];
  const id = of?.hunks.value?.ids[of.hunk.value];
  if (of === undefined || row?.row !== "change" || id === undefined) return;
  void sayOfHunk(of, row.item.change, id, word);
}

function isWriting(target: EventTarget | null): boolean {
  return target instanceof HTMLElement && target.matches("input, textarea, select");
}

function ask(what: NonNullable<typeof dialog.value>): void {
  const isOpen = model.value?.plan.value?.state === "open";
  const isEmpty = what === "take out" && model.value?.hasRejected.value !== true;
  if (isEmpty) tell("Nothing is rejected.");
  else if (what === "help" || what === "close" || isOpen) dialog.value = what;
}

function goToTab(key: string): void {
  const [now, tab] = [place.value, TABS[Number(key) - 1]];
  if (now.page === "plan" && tab !== undefined) go({ ...now, tab });
}

function focus(selector: string): void {
  document.querySelector<HTMLElement>(selector)?.focus();
}
