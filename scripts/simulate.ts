import { parseArgs } from "node:util";
import { isRule, RULES } from "../test/simulation/rules.ts";
import { simulate } from "../test/simulation/simulate.ts";

/**
 * Runs the protocol of a fleet in simulated time: `npm run simulate -- --seeds 100000`. Each seed is a run of
 * its own, the same each time. `--from S` begins at another seed; `--without RULE[,RULE]` takes rules out of
 * the protocol, to see that their absence is found.
 */
const { values } = parseArgs({
  options: {
    seeds: { type: "string", default: "1000" },
    from: { type: "string", default: "1" },
    without: { type: "string", default: "" },
  },
});
const without = values.without === "" ? [] : values.without.split(",");
const unknown = without.find((rule) => !isRule(rule));
if (unknown !== undefined) {
  console.error(`There is no rule '${unknown}'. The rules are: ${Object.keys(RULES).join(", ")}.`);
  process.exit(2);
}

const first = Number(values.from);
const last = first + Number(values.seeds) - 1;
const found = new Map<string, { count: number; seed: number }>();
let steps = 0;
let failed = 0;
for (let seed = first; seed <= last; seed += 1) {
  const run = simulate(seed, without.filter(isRule));
  steps += run.steps;
  if (run.violation === undefined) continue;
  failed += 1;
  const kind = run.violation.replace(/\b(?:[TUO]|web|app|plan)\d+(?::\d+)?/g, "…");
  const known = found.get(kind);
  found.set(kind, { count: (known?.count ?? 0) + 1, seed: known?.seed ?? seed });
}

for (const [kind, { count, seed }] of found) console.log(`${count}\t${kind} (seed ${seed})`);
console.log(`${failed} of ${last - first + 1} seeds failed; ${steps} steps.`);
if (failed > 0) process.exitCode = 1;
