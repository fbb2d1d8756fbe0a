import { messageOf } from "../core/errors/errors.ts";
import type { Resource } from "../core/resource/resource.ts";
import type { ResourceTypes } from "../core/resource/resource-types.ts";
import type { ProbeResult, StrategyWay } from "../core/strategy-abilities.ts";
import { type GuardedStrategy, guarded } from "../strategies/custom/guarded-strategy.ts";
import type { RegisteredStrategy } from "../strategies/registered-strategy.ts";
import type { SandboxStrategyRegistry } from "../strategies/registry.ts";
import { kernelRelease } from "../system/state/machine.ts";
import type { StrategyChooser } from "./resources/choose-strategy.ts";

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
    /** The declared losses, by the names in core/capabilities.ts. */
    readonly loses?: readonly string[];
    readonly ways?: readonly StrategyWay[];
  }[];
  readonly resourceTypes: readonly {
    readonly type: string;
    readonly strategy: string | null;
    readonly why: string;
  }[];
}

export interface DoctorParts {
  readonly stateDir: string;
  readonly registry: SandboxStrategyRegistry;
  readonly chooser: StrategyChooser;
  readonly types: ResourceTypes;
  /** Whether commands can run inside. */
  readonly checkRun: () => Promise<{ readonly ok: boolean; readonly detail: string }>;
  /** The fleet of this host, if it is in one. */
  readonly fleet: { checks(): Promise<DoctorReport["checks"]> } | undefined;
}

/** Probes everything on the file system of the state directory, and leaves no trace. */
export async function examine({
  stateDir,
  registry,
  chooser,
  types,
  checkRun,
  fleet,
}: DoctorParts): Promise<DoctorReport> {
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
      ...((await fleet?.checks()) ?? []),
    ],
    strategies: await strategies(registry, stateDir),
    resourceTypes: await resourceTypes(chooser, types, stateDir),
  };
}

function atLeast(version: string, major: number, minor: number): boolean {
  const [a = 0, b = 0] = version.split(".").map((part) => Number.parseInt(part, 10));
  return a > major || (a === major && b >= minor);
}

async function strategies(
  registry: SandboxStrategyRegistry,
  stateDir: string,
): Promise<DoctorReport["strategies"]> {
  const { strategies: all, unusable } = await registry.listAll();
  const known = await Promise.all(
    all.map(async ({ name, capabilities }) => {
      const types = capabilities.resourceTypes === "all" ? ["fs-directory"] : capabilities.resourceTypes;
      const strategy = registry.guarded(name);
      const probed = whatWorks(
        await Promise.all(
          types.map(async (type) => [type, await probeOrWhyNot(strategy, sample(type, stateDir))]),
        ),
      );
      const ways = (await Promise.all((await registry.implementations(name)).map(waysOf))).flat();
      return {
        name,
        works: probed.works,
        detail: probed.works ? (probed.note ?? "works") : probed.reason,
        strength: capabilities.strength,
        ...(capabilities.loses.length > 0 && { loses: capabilities.loses }),
        ...(ways.length > 0 && { ways }),
      };
    }),
  );
  const broken = unusable.map(({ name, error }) => ({
    name,
    works: false,
    detail: error.message,
    strength: 0,
  }));
  return [...known, ...broken].sort((a, b) => b.strength - a.strength);
}

/** A strategy that works for some types of resources does work, and says for which. */
function whatWorks(probes: readonly (readonly [type: string, probe: ProbeResult])[]): ProbeResult {
  const works = probes.flatMap(([type, probe]) => (probe.works ? [{ type, probe }] : []));
  const fails = probes.flatMap(([type, probe]) => (probe.works ? [] : [{ type, probe }]));
  const [first] = fails;
  if (first === undefined) return works[0]?.probe ?? { works: true };
  if (works.length === 0) return first.probe;
  const [able, unable] = [works, fails].map((some) => some.map(({ type }) => type).join(", "));
  return { works: true, note: `works for ${able}; not for ${unable}: ${first.probe.reason}` };
}

/** A strategy whose probe throws does not work, and does not stop the others. */
async function probeOrWhyNot(strategy: GuardedStrategy, resource: Resource): Promise<ProbeResult> {
  try {
    return await strategy.probe(resource);
  } catch (thrown) {
    return { works: false, reason: messageOf(thrown) };
  }
}

async function waysOf(implementation: RegisteredStrategy): Promise<readonly StrategyWay[]> {
  try {
    return (await guarded(() => Promise.resolve(implementation)).ways()) ?? [];
  } catch (thrown) {
    return [{ name: "ways", works: false, detail: messageOf(thrown) }];
  }
}

async function resourceTypes(
  chooser: StrategyChooser,
  types: ResourceTypes,
  stateDir: string,
): Promise<DoctorReport["resourceTypes"]> {
  return await Promise.all(
    types.list().map(async ({ name: type, lineage }) => {
      try {
        return {
          type,
          ...(await chooser.choose({ ...sample(lineage.at(-1) ?? type, stateDir), type, lineage })),
        };
      } catch (thrown) {
        return { type, strategy: null, why: messageOf(thrown) };
      }
    }),
  );
}

/**
 * A stand-in for a resource of this type, on the file system of the state directory. Checks that need a real
 * resource are skipped.
 */
function sample(type: string, stateDir: string) {
  const location = type === "fs-file" ? `${stateDir}/drydock.db` : stateDir;
  return { id: "doctor", name: `a ${type}`, type, location, properties: { example: true } };
}
