import { openServices } from "../../src/runtime.ts";

/**
 * Opens a state directory and says how many changes a plan has: the program whose system calls are counted.
 */
const [stateDir = "", plan = ""] = process.argv.slice(2);
const drydock = await openServices({ stateDir, cwd: "/", environment: {} });
const { changes } = await drydock.plans.diff(plan);
await drydock.close();
console.log(changes.length);
