import { IS_LONG } from "../support/long-form.ts";
import { runCases } from "./case-run.ts";
import { restorePlan } from "./checkpoint-scenarios.ts";
import { killCases } from "./disturb.ts";
import { firstAndLast, type Point, tracePoints } from "./points.ts";
import { apply, recoveryAfter, undo } from "./scenarios.ts";

/**
 * Runs as a user without privilege, for whom read-only folders have to be opened up: traces the scenario, and
 * with "kill" also dies at the points that only such a user passes; in a long run also at the others that
 * land. In a recovery only where it mends a mode. Prints the points.
 */
const [name = "", how = "", crash = ""] = process.argv.slice(2);
const plain = { apply, undo, restore: restorePlan }[name] ?? apply;
const scenario = crash === "" ? plain : recoveryAfter(plain, crash);
const options = { strategy: "filesystem_copy" };
const passes = await tracePoints(scenario, options);
if (how === "kill") {
  const isChosen = ({ name: point, pass }: Point) =>
    crash !== ""
      ? /^(?:stage\.folder-mode|land\.modes)$/.test(point)
      : /^(?:land|move|restore)\.(?:un)?lock$/.test(point) ||
        (IS_LONG && /^(?:land\.(?:remove|add)|move\.)/.test(point)) ||
        (IS_LONG && /^(?:land|stage)\./.test(point) && pass === passes.get(point));
  const points = firstAndLast(passes).filter(isChosen);
  await runCases(scenario, options, killCases(scenario, points));
}
console.log(JSON.stringify([...passes.keys()]));
