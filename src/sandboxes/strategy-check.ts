import { LOSSES } from "../core/capabilities.ts";
import { messageOf, StrategyUnavailableError } from "../core/errors.ts";
import { type SandboxStrategy, STRATEGY_METHODS, TWO_PHASE_METHODS } from "../core/strategy.ts";

type Members = { readonly [member: string]: unknown };

/** What may be there or not, and must be a method where it is. */
const OPTIONAL_METHODS = [
  "query",
  "discardCheckpoint",
  "path",
  "enter",
  "leave",
  "environment",
  "readOriginal",
  "notes",
  "probe",
  "ways",
  "discardUndo",
] as const;

const ISOLATIONS: readonly unknown[] = ["view", "copy", "branch", "transaction", "none"];
const HINT = "See docs/writing-a-strategy.md for what a strategy has to have.";

/** Sees that something is a strategy before anybody calls it. Everything that is wrong is named at once. */
export function assertStrategy(candidate: unknown, name: string | undefined): asserts candidate is SandboxStrategy {
  const shown = name ?? shownName(candidate);
  if (candidate === null || typeof candidate !== "object")
    throw bad(shown, "A strategy has to be an object.", "Export a class and register an instance of it.");
  let problems: readonly string[];
  try {
    problems = problemsOf(candidate as Members, name === undefined);
  } catch (thrown) {
    throw bad(shown, `What the strategy ${shown} has can't be looked at: ${messageOf(thrown)}`, HINT, thrown);
  }
  if (problems.length > 0) throw bad(shown, `The strategy ${shown} lacks ${problems.join(", ")}.`, HINT);
}

function problemsOf(candidate: Members, needsName: boolean): readonly string[] {
  const problems: string[] = [];
  const { name, version, capabilities } = candidate;
  if (needsName && (typeof name !== "string" || name === "")) problems.push("name (a string)");
  if (version !== undefined && typeof version !== "string") problems.push("version (a string, if any)");
  const declared = typeof capabilities === "object" && capabilities !== null ? (capabilities as Members) : {};
  problems.push(...capabilityProblems(declared));
  const required = declared["commit"] === "two-phase" ? [...STRATEGY_METHODS, ...TWO_PHASE_METHODS] : STRATEGY_METHODS;
  for (const method of required) if (typeof candidate[method] !== "function") problems.push(`${method}()`);
  for (const method of OPTIONAL_METHODS)
    if (candidate[method] !== undefined && typeof candidate[method] !== "function")
      problems.push(`${method}() (it is there, but can't be called)`);
  return problems;
}

/** What it says of itself has to make sense; whether it is true shows when it is called. */
function capabilityProblems(declared: Members): readonly string[] {
  const { commit, undo, partial, checkpoint, isolation, strength, resourceTypes, loses, heldTransaction } = declared;
  const { leavesOut } = declared;
  const problems: string[] = [];
  if (commit !== "two-phase" && commit !== "one-phase" && commit !== "in-place")
    problems.push("capabilities.commit (two-phase, one-phase or in-place)");
  for (const [key, value] of Object.entries({ undo, partial, checkpoint, heldTransaction, leavesOut }))
    if (value !== undefined && typeof value !== "boolean") problems.push(`capabilities.${key} (true or false)`);
  if (isolation !== undefined && !ISOLATIONS.includes(isolation))
    problems.push(`capabilities.isolation (${ISOLATIONS.join(", ")})`);
  if (strength !== undefined && !Number.isFinite(strength)) problems.push("capabilities.strength (a number)");
  if (resourceTypes !== undefined && !isListOf(resourceTypes, (type) => typeof type === "string"))
    problems.push("capabilities.resourceTypes (a list of names)");
  if (loses !== undefined && !isListOf(loses, (loss) => LOSSES.some((known) => known === loss)))
    problems.push(`capabilities.loses (a list out of ${LOSSES.join(", ")})`);
  // Before its commit its work is saved, so that it is there again after it was taken back.
  if (commit === "one-phase" && undo === true && checkpoint === false)
    problems.push("capabilities.checkpoint (what is one-phase with undo has to have checkpoints)");
  problems.push(...partialProblems(declared));
  if (commit === "in-place" && undo === true) problems.push("a commit step (what is in-place can't have undo)");
  return problems;
}

function partialProblems({ commit, undo, partial }: Members): readonly string[] {
  const isPossible = partial !== true || (commit === "two-phase" && undo !== false);
  return isPossible ? [] : ["capabilities.partial (only what is two-phase and has undo can land in parts)"];
}

function isListOf(value: unknown, fits: (item: unknown) => boolean): boolean {
  return Array.isArray(value) && value.every(fits);
}

function shownName(candidate: unknown): string {
  const name = typeof candidate === "object" && candidate !== null ? (candidate as Members)["name"] : undefined;
  return typeof name === "string" ? name : "without a name";
}

function bad(strategy: string, message: string, hint: string, cause?: unknown): StrategyUnavailableError {
  return new StrategyUnavailableError(message, { strategy, hint, code: "BAD_STRATEGY", cause });
}
