import type { HolderStart } from "../holder-protocol.ts";
import { TransactionHolder } from "./transaction-holder.ts";

/** The holder's program; see holder-protocol.ts. */
const parts: Buffer[] = [];
for await (const part of process.stdin) parts.push(part as Buffer);
const start = JSON.parse(Buffer.concat(parts).toString()) as HolderStart;

// An interrupt at a terminal is not for the holder: the plan outlives the command that made it.
process.on("SIGINT", () => undefined);
process.on("SIGHUP", () => undefined);
// Once the holder is ready, the starter stops reading.
process.stdout.on("error", () => undefined);

const holder = new TransactionHolder(start, () => process.exit(0));
await holder.listen();
process.stdout.write("ready\n");
// The starter may do other things before its first request.
if (start.connects !== undefined) holder.connectTo(start.connects);
