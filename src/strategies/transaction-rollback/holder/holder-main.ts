import type { HolderStart } from "../holder-protocol.ts";
import { TransactionHolder } from "./transaction-holder.ts";

/** The holder's program; see holder-protocol.ts. */
const parts: Buffer[] = [];
for await (const part of process.stdin) parts.push(part as Buffer);
const start = JSON.parse(Buffer.concat(parts).toString()) as HolderStart;

// Nobody at a terminal means us, and the plan outlives who made it.
process.on("SIGINT", () => undefined);
process.on("SIGHUP", () => undefined);
// Nobody listens any more once we are ready.
process.stdout.on("error", () => undefined);

const holder = new TransactionHolder(start, () => process.exit(0));
await holder.listen();
process.stdout.write("ready\n");
// Who started it may have other things to do before he asks.
if (start.connects !== undefined) holder.connectTo(start.connects);
