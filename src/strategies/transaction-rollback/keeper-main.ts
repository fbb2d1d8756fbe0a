import { Keeper } from "./keeper.ts";
import type { KeeperStart } from "./keeper-protocol.ts";

/** The keeper's program; see keeper-protocol.ts. */
const parts: Buffer[] = [];
for await (const part of process.stdin) parts.push(part as Buffer);
const start = JSON.parse(Buffer.concat(parts).toString()) as KeeperStart;

// Nobody at a terminal means us, and the plan outlives who made it.
process.on("SIGINT", () => undefined);
process.on("SIGHUP", () => undefined);
// Nobody listens any more once we are ready.
process.stdout.on("error", () => undefined);

const keeper = new Keeper(start, () => process.exit(0));
await keeper.listen();
process.stdout.write("ready\n");
// Who started it may have other things to do before he asks.
if (start.connects !== undefined) keeper.connectTo(start.connects);
