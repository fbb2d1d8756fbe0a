import { setTimeout } from "node:timers/promises";
import { openDrydock } from "drydock-sandbox";

/**
 * A program that makes a plan over a folder, starts a script in it detached, prints the id of the plan, and
 * never ends: {@link detached.test.ts} kills it.
 */
const [stateDir = "", location = "", script = ""] = process.argv.slice(2);

const drydock = await openDrydock({ stateDir });
const plan = await drydock.plans.create({ resources: [{ location }] });
const terminal = { rows: 10, columns: 40 };
await plan.detach({ command: ["sh", "-c", script], terminal, limits: { time: 300_000 } });
console.log(plan.id);
for (;;) await setTimeout(60_000);
