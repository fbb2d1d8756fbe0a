import type { Option } from "commander";
import type { Services } from "../../services.ts";
import type { CommandContext } from "../command-context.ts";
import type { CommandEntry } from "../command-entry.ts";
import { openToRead } from "../open-for-command.ts";
import { type Expected, expectedAfter } from "./typed-words.ts";

/** A word that can stand where the cursor is. */
export interface Candidate {
  readonly word: string;
  readonly about: string;
}

/** Commands that are about plans that are over, too. */
const ALSO_CLOSED: readonly string[] = [
  "plan undo",
  "undo",
  "plan log",
  "plan show",
  "status",
  "plan diff",
  "diff",
];

/**
 * The words that can stand for the last one of a command line, which may be incomplete. None means: a file,
 * or a word of the user's own.
 */
export async function candidatesFor(
  words: readonly string[],
  commands: readonly CommandEntry[],
  context: CommandContext,
): Promise<readonly Candidate[]> {
  const last = words.at(-1) ?? "";
  const expected = await expectedAfter(words.slice(0, -1), commands, context);
  const all = last.startsWith("-") ? optionWords(expected) : await namesFor(expected, context);
  return all.filter(({ word }) => word.startsWith(last));
}

function optionWords(expected: Expected): readonly Candidate[] {
  if (expected.kind === "own" || expected.kind === "value") return [];
  return expected.options.flatMap(({ long, short, description, hidden }) => {
    const word = long ?? short;
    return word === undefined || hidden ? [] : [{ word, about: description }];
  });
}

async function namesFor(expected: Expected, context: CommandContext): Promise<readonly Candidate[]> {
  if (expected.kind === "command")
    return expected.entries.map(({ name, summary }) => ({ word: name, about: summary }));
  if (expected.kind === "value") return choicesOf(expected.option);
  if (expected.kind === "own" || expected.argument === undefined) return [];
  const name = expected.argument.name().toUpperCase();
  const find = Object.hasOwn(NAMES, name) ? NAMES[name] : undefined;
  return find === undefined
    ? []
    : await openToRead(context, async (drydock) => await find(drydock, expected));
}

function choicesOf({ argChoices = [] }: Option): readonly Candidate[] {
  return argChoices.map((word) => ({ word, about: "" }));
}

type Asked = Extract<Expected, { readonly kind: "argument" }>;

/** The names that an argument can have, by the name of the argument in help. */
const NAMES: {
  readonly [argument: string]: (drydock: Services, asked: Asked) => Promise<readonly Candidate[]>;
} = {
  PLAN: async ({ plans }, { command, given }) => {
    const listed = await plans.list({ all: ALSO_CLOSED.includes(command) });
    const names = listed.filter(({ name }) => !given.includes(name));
    return names.map(({ name, state, resources }) => ({
      word: name,
      about: `${state}: ${resources.map((resource) => resource.name).join(", ")}`,
    }));
  },
  RESOURCE: async ({ plans }, { given: [plan] }) =>
    (await plans.show(plan)).resources.map(({ name, location }) => ({ word: name, about: location })),
  CHECKPOINT: async ({ plans, checkpoints }, { given: [plan] }) => {
    const { id } = await plans.find(plan);
    return (await checkpoints.list(id)).map((saved) => ({
      word: saved.label ?? saved.id,
      about: saved.createdAt,
    }));
  },
  STRATEGY: async ({ registry }) =>
    (await registry.listAll()).strategies.map(({ name }) => ({ word: name, about: "" })),
  TYPE: async ({ resourceTypes }) => resourceTypes.list().map(({ name }) => ({ word: name, about: "" })),
};
