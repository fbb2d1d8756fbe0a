import { dirname } from "node:path";
import { displayPath } from "../../core/paths/byte-path.ts";
import type { PlanRecord } from "../../core/plan.ts";
import type { LimitName, Limits } from "../../core/values/limits.ts";
import type { LimitLine, PolicyLayer, PolicyLine } from "../../core/values/run-policy.ts";
import { homeOf } from "../../sandboxes/scratch/caches.ts";
import { isThere } from "../../system/data/existence.ts";
import { realPathOf } from "../../system/data/locations.ts";
import { shortDigest } from "../../system/data/short-digest.ts";
import { type ExecRequest, pathsOf } from "../exec.ts";
import type { NetworkWish } from "./network-policy.ts";
import { makePersisted, type PolicyInForce, policyInForce } from "./policy-in-force.ts";
import { profileOf } from "./profiles.ts";

type Environment = { readonly [name: string]: string | undefined };

/** The policy of one command. */
export interface CommandPolicy extends PolicyInForce {
  /** The environment that it leaves to the command. */
  readonly environment: Environment;
  /** Equal for policies that let a command see the same. */
  readonly digest: string;
}

export interface PoliciesParts {
  readonly layers: readonly PolicyLayer[];
  readonly environment: Environment;
  readonly stateDir: string;
  /** Where the user's own config is, or would be. */
  readonly userConfig: string | undefined;
}

type ProfiledCommand = Partial<Pick<ExecRequest, "command" | "profiles" | "strict" | "network" | "publish">>;

/** The policies of commands in plans. */
export class CommandPolicies {
  readonly #parts: PoliciesParts;

  constructor(parts: PoliciesParts) {
    this.#parts = parts;
  }

  /** The policy for a command over these resources. */
  look(
    resources: readonly string[],
    { command = [], profiles, strict, network, publish }: ProfiledCommand,
  ): CommandPolicy {
    const { layers, environment, stateDir, userConfig } = this.#parts;
    const config = userConfig === undefined ? [] : [dirname(userConfig)];
    const own = [stateDir, ...config].map((path) => realPathOf(path) ?? path);
    const automatic = profiles === "automatic" ? profileOf(command[0]) : undefined;
    const all = policyInForce({
      ...{ layers, environment, resources, own },
      ...{ network: wishOf(network), publish },
      ...(profiles !== undefined && profiles !== "automatic" && { profiles }),
      ...(automatic !== undefined && { automatic }),
    });
    const policy = strict === true ? strictly(all) : all;
    const { denied, readable, persisted, sockets, ownHome, caches } = policy;
    const homes = ownHome === undefined ? [] : [ownHome];
    const seen = [denied, readable, persisted, sockets, homes].map((lines) => lines.map(({ path }) => path));
    const shared = caches.shared.map(({ stored }) => stored);
    return {
      ...policy,
      environment: environmentLeft(environment, policy),
      digest: shortDigest(Buffer.from(JSON.stringify([...seen, shared]))),
    };
  }

  /** The limits of every command: the smallest that any config names. */
  limits(configured: Limits): Limits {
    const most: { -readonly [name in LimitName]?: number } = { ...configured };
    for (const { name, most: bound } of this.#parts.layers.flatMap(({ limits }) => limits ?? []))
      most[name] = Math.min(bound, most[name] ?? bound);
    return most;
  }

  /** Which line of a policy says a limit that is in force. */
  limitLines(inForce: Limits): readonly LimitLine[] {
    const all = this.#parts.layers.flatMap(({ limits }) => limits ?? []);
    return all.filter(({ name, most }) => inForce[name] === most);
  }

  /** The same for a command that starts now: what it keeps is there from now on. */
  enter(plan: PlanRecord, command: ProfiledCommand): CommandPolicy {
    const policy = this.look(pathsOf(plan), command);
    makePersisted(policy, homeOf(this.#parts.environment));
    return policy;
  }
}

/** A strict command writes only to resources and what it keeps. It can only read a file to be put back. */
function strictly(policy: PolicyInForce): PolicyInForce {
  const { ownHome, readable, writtenBack, caches } = policy;
  const files = ownHome === undefined ? [] : writtenBack.filter(({ path }) => isThere(path));
  return {
    ...policy,
    caches: { ...caches, shared: [] },
    readable: [...readable, ...files],
    writtenBack: [],
  };
}

/** `true` is no wish: the policy has the say. */
function wishOf(network: ExecRequest["network"]): NetworkWish | undefined {
  return network === false ? "none" : network === true ? undefined : network;
}

function environmentLeft(environment: Environment, { dropped, set }: PolicyInForce): Environment {
  const names = new Set(dropped.map(({ value }) => value));
  return {
    ...Object.fromEntries(Object.entries(environment).filter(([name]) => !names.has(name))),
    ...Object.fromEntries(set.map(({ name, value }) => [name, value])),
  };
}

/** What to tell about a line of a project that asks for more than the user allows. */
export function refusedSentence({ value, from }: PolicyLine): string {
  return `${from} asks for ${displayPath(value)}; only your own config can allow that.`;
}
