import { readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline/promises";
import { AtomicCommitError, BusyError } from "../../src/index.ts";
import { openServices } from "../../src/runtime.ts";
import type { Services } from "../../src/services.ts";

/** What a process of its own does with many sandboxes over one folder. */
export type ManyTask =
  /**
   * Makes so many at once, says so, waits for a line, then lands those with an even number and throws the
   * others away.
   */
  | {
      readonly does: "crowd";
      readonly stateDir: string;
      readonly original: string;
      readonly numbers: readonly number[];
    }
  /** Makes, lands and takes back one after the other, and says what that cost the process. */
  | {
      readonly does: "sequence";
      readonly stateDir: string;
      readonly original: string;
      readonly plans: number;
    };

/** What a process holds, after its garbage is collected. */
export interface Held {
  readonly megabytes: number;
  readonly openFiles: number;
}

/** After so many a process has all the memory that it takes without a leak. */
const WARM_UP = 50;

const task = JSON.parse(process.argv[2] ?? "") as ManyTask;
const drydock = await openServices({ stateDir: task.stateDir, environment: {}, cwd: task.original });
try {
  if (task.does === "crowd") await crowd(drydock, task.original, task.numbers);
  else await sequence(drydock, task.original, task.plans);
} finally {
  await drydock.close();
}

async function crowd({ plans }: Services, original: string, numbers: readonly number[]): Promise<void> {
  const made: { readonly number: number; readonly id: string }[] = [];
  for (const number of numbers) {
    const { id } = await plans.create({ resources: [{ location: original }] });
    const path = await plans.path(id);
    writeFileSync(join(path, `own-${number}`), `${number}\n`);
    writeFileSync(join(path, "folder", `own-${number}`), `${number}\n`);
    made.push({ number, id });
  }
  console.log("ready");
  await createInterface({ input: process.stdin })[Symbol.asyncIterator]().next();
  for (const { number, id } of made)
    await patiently(() => (number % 2 === 0 ? plans.apply(id) : plans.cancel(id)));
}

/** So many processes want the same folder that one may be refused after a long wait. */
async function patiently(action: () => Promise<unknown>): Promise<void> {
  for (;;) {
    try {
      await action();
      return;
    } catch (thrown) {
      const cause = thrown instanceof AtomicCommitError ? thrown.cause : thrown;
      if (!(cause instanceof BusyError) || cause.code !== "CLAIMED") throw thrown;
    }
  }
}

async function sequence(drydock: Services, original: string, count: number): Promise<void> {
  await one(drydock, original, 0);
  for (let done = 0; done < WARM_UP; done += 1) await one(drydock, original, done);
  const before = held();
  for (let done = 0; done < count; done += 1) await one(drydock, original, done);
  console.log(JSON.stringify([before, held()]));
}

/** Each tenth by a command inside. */
async function one({ plans, run }: Services, original: string, number: number): Promise<void> {
  const plan = { resources: [{ location: original }] };
  if (number % 10 === 9) {
    await run({ plan, command: ["sh", "-c", "echo command > own"], decide: async () => "discard" });
    return;
  }
  const { id } = await plans.create(plan);
  writeFileSync(join(await plans.path(id), "own"), `${number}\n`);
  await plans.diff(id);
  if (number % 2 === 0) {
    await plans.cancel(id);
    return;
  }
  await plans.apply(id);
  await plans.undo(id);
}

function held(): Held {
  globalThis.gc?.();
  return {
    megabytes: process.memoryUsage.rss() / 1024 / 1024,
    openFiles: readdirSync("/proc/self/fd").length,
  };
}
