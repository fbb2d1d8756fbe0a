import { messageOf } from "../core/errors.ts";
import { BUILT_IN_RESOURCE_TYPES } from "../core/resource.ts";
import type { StrategyWay } from "../core/strategy.ts";
import { BUILT_IN_STRATEGY_NAMES, builtInStrength } from "../core/strategy-names.ts";
import type { SandboxStrategyRegistry } from "../sandboxes/registry.ts";
import { kernelRelease } from "../system/machine.ts";
import type { StrategyChooser } from "./choose-strategy.ts";

/** What works on this machine. */
export interface DoctorReport {
  readonly node: string;
  readonly kernel: string;
  readonly platform: string;
  readonly stateDir: string;
  readonly checks: readonly { readonly name: string; readonly ok: boolean; readonly detail: string }[];
  readonly strategies: readonly {
    readonly name: string;
    readonly works: boolean;
    readonly detail: string;
    readonly strength: number;
    /** What work in its sandboxes does not keep, by the names in core/capabilities.ts. */
    readonly loses?: readonly string[];
    readonly ways?: readonly StrategyWay[];
  }[];
  readonly resourceTypes: readonly { readonly type: string; readonly strategy: string | null; readonly why: string }[];
}

export interface DoctorParts {
  readonly stateDir: string;
  readonly registry: SandboxStrategyRegistry;
  readonly chooser: StrategyChooser;
  /** Whether commands can be run inside. */
  readonly checkRun: () => Promise<{ readonly ok: boolean; readonly detail: string }>;
}

/** Tries everything on a folder in the state directory's own place, and leaves nothing behind. */
export async function examine({ stateDir, registry, chooser, checkRun }: DoctorParts): Promise<DoctorReport> {
  const kernel = kernelRelease();
  const isNewEnough = atLeast(kernel, 5, 15);
  return {
    node: process.version,
    kernel,
    platform: `${process.platform} ${process.arch}`,
    stateDir,
    checks: [
      {
        name: "node",
        ok: atLeast(process.version.slice(1), 24, 0),
        detail: `${process.version} (24 or later is needed)`,
      },
      { name: "kernel", ok: isNewEnough, detail: `${kernel} (5.15 or later is needed)` },
      { name: "state directory", ok: true, detail: stateDir },
      { name: "run", ...(await checkRun()) },
    ],
    strategies: await strategies(registry, stateDir),
    resourceTypes: await resourceTypes(chooser, stateDir),
  };
}

function atLeast(version: string, major: number, minor: number): boolean {
  const [a = 0, b = 0] = version.split(".").map((part) => Number.parseInt(part, 10));
  return a > major || (a === major && b >= minor);
}

async function strategies(registry: SandboxStrategyRegistry, stateDir: string): Promise<DoctorReport["strategies"]> {
  const known = await Promise.all(
    registry.list().map(async ({ name, strategy, capabilities }) => {
      const type = capabilities.resourceTypes === "all" ? undefined : capabilities.resourceTypes[0];
      const probed = (await strategy.probe?.(sample(type ?? "fs-directory", stateDir))) ?? { works: true };
      return {
        name,
        works: probed.works,
        detail: probed.works ? (probed.note ?? "works") : probed.reason,
        strength: capabilities.strength,
        ...(capabilities.loses.length > 0 && { loses: capabilities.loses }),
        ...(strategy.ways !== undefined && { ways: await strategy.ways() }),
      };
    }),
  );
  const missing = BUILT_IN_STRATEGY_NAMES.filter((name) => !registry.has(name)).map((name) => ({
    name,
    works: false,
    detail: "not part of this version",
    strength: builtInStrength(name),
  }));
  return [...known, ...missing].sort((a, b) => b.strength - a.strength);
}

async function resourceTypes(chooser: StrategyChooser, stateDir: string): Promise<DoctorReport["resourceTypes"]> {
  return await Promise.all(
    BUILT_IN_RESOURCE_TYPES.map(async (type) => {
      try {
        return { type, ...(await chooser.choose(sample(type, stateDir))) };
      } catch (thrown) {
        return { type, strategy: null, why: messageOf(thrown) };
      }
    }),
  );
}

/** A stand-in for a resource of this type, on the file system of the state directory. What only a real one could tell is not asked. */
function sample(type: string, stateDir: string) {
  const location = type === "fs-file" ? `${stateDir}/drydock.db` : stateDir;
  return { id: "doctor", name: `a ${type}`, type, location, properties: { example: true } };
}
