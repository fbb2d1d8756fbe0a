import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import type { SandboxStrategy, StrategyContext } from "../src/core/strategy.ts";
import { declareCustom } from "../src/strategies/custom/declare-strategies.ts";
import { SandboxStrategyRegistry } from "../src/strategies/registry.ts";
import { answer, compare } from "./answer.ts";
import { alternate, type Times } from "./measure.ts";
import { home } from "./places.ts";

/**
 * What does it cost that a custom strategy is found by its name, and called through the guard? The
 * peers are importing the module and making the object oneself, and calling it directly. The strategy itself
 * does nothing.
 */
const ROUNDS = 31;
const CALLS = 1_000;
const MORE_PER_CALL_MS = 0.02;

const METHODS = [
  "create",
  "write",
  "diff",
  "commit",
  "rollback",
  "checkpoint",
  "restoreCheckpoint",
  "cleanup",
];
const TEXT = `export class Idle {
  capabilities = { commit: "one-phase" };
  async read() { return bytes; }
  ${METHODS.map((method) => `async ${method}() {}`).join("\n  ")}
}
const bytes = new Uint8Array(100);
`;

const context: StrategyContext = {
  stateDir: home,
  policy: { allowSetid: false, allowDevices: false },
  recordIntent: async () => undefined,
  failpoint: () => undefined,
  now: () => new Date(),
  progress: () => undefined,
  signal: new AbortController().signal,
};
let modules = 0;

/** A module that was never loaded. */
function newModule(): string {
  modules += 1;
  const file = join(home, `idle-${modules}.mjs`);
  writeFileSync(file, TEXT);
  return file;
}

function registryWith(file: string): SandboxStrategyRegistry {
  const registry = new SandboxStrategyRegistry();
  const place = { folder: home, place: `${home}/drydock.yaml:1:1` };
  const declared = { name: "idle", module: file, className: "Idle", limitMilliseconds: 60_000, ...place };
  declareCustom({ registry, context, recordLoss: async () => undefined }, declared);
  return registry;
}

let file = "";
const before = () => {
  file = newModule();
};
const cold = await alternate(ROUNDS, {
  ours: { before, run: async () => void (await registryWith(file).resolve("idle")) },
  bare: {
    before,
    run: async () => {
      const { Idle } = (await import(pathToFileURL(file).href)) as { Idle: new () => SandboxStrategy };
      new Idle();
    },
  },
});

const registry = registryWith(newModule());
const { strategy } = await registry.resolve("idle");
const known = new Map([["idle", strategy]]);
const warm = await alternate(ROUNDS, {
  ours: {
    run: async () => {
      for (let call = 0; call < CALLS; call += 1) await registry.resolve("idle");
    },
  },
  bare: {
    run: async () => {
      for (let call = 0; call < CALLS; call += 1) await known.get("idle");
    },
  },
});

const metadata = { folder: "/some/where/in/the/state", original: "/home/me/project/notes.json", number: 7 };
const ref = { sandboxId: "p-r", planId: "p", resourceId: "r", strategyName: "idle", metadata };
const calls = await alternate(ROUNDS, {
  guarded: {
    run: async () => {
      for (let call = 0; call < CALLS; call += 1) await registry.guarded("idle").read(ref, "src/app.ts");
    },
  },
  direct: {
    run: async () => {
      for (let call = 0; call < CALLS; call += 1) await strategy.read(ref, "src/app.ts");
    },
  },
});
const direct = calls.direct[Math.floor(calls.direct.length / 2)] ?? 0;
const more: Times = calls.guarded.map((time) => time - direct);

answer([
  compare("find a strategy, cold", cold.ours, "import and new", cold.bare, undefined),
  compare(`find it again, ${CALLS} times`, warm.ours, "Map.get", warm.bare, undefined),
  compare(`guard: more for ${CALLS} calls`, more, "the calls", calls.direct, {
    underMs: CALLS * MORE_PER_CALL_MS,
    beyond:
      "the path and the version are checked, and arguments and answer are copied and checked by schemas",
  }),
]);
