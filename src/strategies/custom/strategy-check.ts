import { CAPABILITIES } from "../../core/capabilities.ts";
import { messageOf, StrategyUnavailableError } from "../../core/errors/errors.ts";
import type { SandboxStrategy } from "../../core/strategy.ts";
import { METHOD_NAMES, requiredMethods } from "./method-table.ts";

type Members = { readonly [member: string]: unknown };

const HINT = "See docs/writing-a-strategy.md for what a strategy has to have.";

/** Refuses an object that is no strategy before any call, and names all of its problems at once. */
export function assertStrategy(
  candidate: unknown,
  name: string | undefined,
): asserts candidate is SandboxStrategy {
  const shown = name ?? shownName(candidate);
  if (candidate === null || typeof candidate !== "object")
    throw bad(shown, "A strategy has to be an object.", "Export a class and register an instance of it.");
  let problems: readonly string[];
  try {
    problems = problemsOf(candidate as Members, name === undefined);
  } catch (thrown) {
    // A getter of the strategy threw.
    throw bad(shown, `The strategy ${shown} can't be examined: ${messageOf(thrown)}`, HINT, thrown);
  }
  if (problems.length > 0) throw bad(shown, `The strategy ${shown} lacks ${problems.join(", ")}.`, HINT);
}

function problemsOf(candidate: Members, needsName: boolean): readonly string[] {
  const problems: string[] = [];
  const { name, version, capabilities } = candidate;
  if (needsName && (typeof name !== "string" || name === "")) problems.push("name (a string)");
  if (version !== undefined && typeof version !== "string") problems.push("version (a string, if any)");
  const declared = typeof capabilities === "object" && capabilities !== null ? (capabilities as Members) : {};
  problems.push(...capabilityProblems(declared), ...combinationProblems(declared));
  const required = requiredMethods(declared["commit"]);
  for (const method of [...required, ...METHOD_NAMES.filter((known) => !required.includes(known))]) {
    if (typeof candidate[method] === "function") continue;
    if (required.includes(method)) problems.push(`${method}()`);
    else if (candidate[method] !== undefined) problems.push(`${method}() (not a function)`);
  }
  return problems;
}

/** Capabilities have to be consistent. Whether they are true shows in the calls. */
function capabilityProblems(declared: Members): readonly string[] {
  return Object.entries(CAPABILITIES).flatMap(([name, { values, fits, byDefault }]) => {
    const isLeftOut = declared[name] === undefined && byDefault !== undefined;
    return isLeftOut || fits(declared[name]) ? [] : [`capabilities.${name} (${values})`];
  });
}

function combinationProblems(declared: Members): readonly string[] {
  const { commit, undo, partial, checkpoint, whileRunning } = declared;
  const problems: string[] = [];
  // Drydock saves the work before the commit, so that it is there again after the commit is undone.
  if (commit === "one-phase" && undo === true && checkpoint === false)
    problems.push("capabilities.checkpoint (one-phase with undo needs checkpoints)");
  if (partial === true && (commit !== "two-phase" || undo === false))
    problems.push("capabilities.partial (only a two-phase strategy with undo can land parts)");
  if (Array.isArray(whileRunning) && whileRunning.includes("apply") && partial !== true)
    problems.push("capabilities.partial (what lands while commands run lands as a part)");
  if (commit === "in-place" && undo === true) problems.push("a commit step (in-place excludes undo)");
  return problems;
}

function shownName(candidate: unknown): string {
  const name =
    typeof candidate === "object" && candidate !== null ? (candidate as Members)["name"] : undefined;
  return typeof name === "string" ? name : "without a name";
}

function bad(strategy: string, message: string, hint: string, cause?: unknown): StrategyUnavailableError {
  return new StrategyUnavailableError(message, { strategy, hint, code: "BAD_STRATEGY", cause });
}
