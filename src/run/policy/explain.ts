import { isAtOrBelow } from "../../core/paths/byte-path.ts";
import type { LimitName, Limits } from "../../core/values/limits.ts";
import type { NetworkMode, PolicyLine, ProfileName } from "../../core/values/run-policy.ts";
import type { ResourceRequest } from "../../plans/plan-views.ts";
import { isThere } from "../../system/data/existence.ts";
import { MountTable } from "../../system/mount/mount-table.ts";
import { mayMountOnMachine } from "../../system/mount/privilege.ts";
import { networkRuleText } from "../../system/network/network-rule.ts";
import { publishedAddress } from "../../system/network/published-port.ts";
import { type ExecRequest, type Located, pathsOf } from "../exec.ts";
import { hasMountsBelow } from "../view/host-mounts.ts";
import { scratchLayers } from "../view/scratch.ts";
import type { CommandPolicies, CommandPolicy } from "./command-policies.ts";
import type { PathLine } from "./path-rules.ts";

/** A command that is not run: what would it be allowed? */
export type ExplainRequest = Partial<
  Pick<ExecRequest, "command" | "profiles" | "strict" | "network" | "publish" | "limits">
>;

/** The same for a command of a plan that is not made yet. */
export interface ExplainRunRequest extends ExplainRequest {
  /** What the plan would be made over. */
  readonly resources: readonly ResourceRequest[];
}

/** A path or a variable, and the line of a config, or the profile, that says so. */
export interface ExplainedLine {
  readonly path: string;
  readonly from: string;
}

/** A variable, and what says so. Values are never told. */
export interface ExplainedVariable {
  readonly name: string;
  readonly from: string;
}

/** What it can reach on the network, and what says so. */
export interface ExplainedDestination {
  readonly destination: string;
  readonly from: string;
}

/** A place of this machine, with port 0 if any will do; where inside it leads; and what says so. */
export interface ExplainedPort {
  readonly address: string;
  readonly inside: number;
  readonly from: string;
}

/** What a command would be allowed: `drydock run --explain --json` prints it. */
export interface RunExplanation {
  readonly profiles: readonly ProfileName[];
  /** What it writes here lands, or is thrown away, as the user decides. */
  readonly resources: readonly string[];
  /** What it writes here goes with the plan. */
  readonly scratch: readonly string[];
  /** Its home is one of the plan's own: the user's home, of which it sees nothing but what lines name. */
  readonly ownHome?: ExplainedLine;
  /** What it writes here stays, at once. */
  readonly kept: readonly ExplainedLine[];
  /** What it replaces here takes the place of the user's when it has ended. */
  readonly writtenBack: readonly ExplainedLine[];
  /** Caches that it shares with other plans, where they are, and how many bytes they may hold together. */
  readonly caches: {
    readonly paths: readonly ExplainedLine[];
    readonly folder: string;
    readonly limit: number;
  };
  /** Patterns of what lands only with the user's word, of all that it changes. */
  readonly protects: readonly ExplainedLine[];
  /** What it can't read. */
  readonly denied: readonly ExplainedLine[];
  /** What it can read in these, and in a home of the plan's own. */
  readonly readable: readonly ExplainedLine[];
  /** Sockets of the host that it can reach. */
  readonly sockets: readonly ExplainedLine[];
  readonly variables: {
    readonly dropped: readonly ExplainedVariable[];
    readonly set: readonly ExplainedVariable[];
  };
  readonly network: NetworkMode;
  /** The line about the network that counts, if there is one. */
  readonly networkFrom?: string;
  /** With the network `allow`: all that it can reach. */
  readonly reachable: readonly ExplainedDestination[];
  /** Ports of this machine that would lead to its own. */
  readonly published: readonly ExplainedPort[];
  /** Whether it can look at its plan, save it and ask for a review, where it has namespaces. */
  readonly channel: boolean;
  /** The line about the channel that counts, if there is one. */
  readonly channelFrom?: string;
  /** Whether it can reach the servers of databases that its plan holds, past the plan. */
  readonly databases: boolean;
  /** The line about these that counts, if there is one. */
  readonly databasesFrom?: string;
  /** Whether it can't reach daemons, and its temporary folders are private and empty. */
  readonly strict: boolean;
  readonly limits: Limits;
  /** Which line of a policy says a limit. */
  readonly limitsFrom: { readonly [name in LimitName]?: string };
  /** Lines of a project that ask for more than the user's own config allows. */
  readonly refused: readonly ExplainedLine[];
}

/** Says what a command inside a plan would be allowed. Runs nothing, and changes nothing. */
export function explain(
  policies: CommandPolicies,
  { environment, limits }: { readonly environment: Environment; readonly limits: Limits },
  plan: Located,
  request: ExplainRequest,
): RunExplanation {
  const { strict = false } = request;
  const resources = pathsOf(plan);
  const policy = policies.look(resources, request);
  const inForce = { ...policies.limits(limits), ...request.limits };
  const scratch = strict ? [] : scratchPaths(environment, resources, policy);
  const { mode, from: networkFrom, rules } = policy.network;
  return {
    profiles: policy.profiles,
    resources,
    scratch,
    ...(policy.ownHome !== undefined && { ownHome: pathOf(policy.ownHome) }),
    kept: policy.persisted.map(pathOf),
    writtenBack: policy.writtenBack.map(pathOf),
    caches: explainedCaches(policy, scratch),
    protects: policy.protects.map(lineOf),
    denied: policy.denied.map(pathOf),
    readable: policy.readable.map(pathOf),
    sockets: policy.sockets.map(pathOf),
    variables: {
      dropped: policy.dropped.map(({ value, from }) => ({ name: value, from })),
      set: policy.set.map(({ name, from }) => ({ name, from })),
    },
    network: mode,
    ...(networkFrom !== undefined && { networkFrom }),
    reachable: rules.map(({ rule, from }) => ({ destination: networkRuleText(rule), from })),
    published: policy.ports.map(({ inside, from, ...port }) => ({
      ...{ address: publishedAddress(port), inside, from },
    })),
    channel: policy.channel.isOn,
    ...(policy.channel.from !== undefined && { channelFrom: policy.channel.from }),
    databases: policy.databases.isOn,
    ...(policy.databases.from !== undefined && { databasesFrom: policy.databases.from }),
    strict,
    limits: inForce,
    limitsFrom: Object.fromEntries(policies.limitLines(inForce).map(({ name, from }) => [name, from])),
    refused: policy.refused.map(lineOf),
  };
}

type Environment = { readonly [name: string]: string | undefined };

function lineOf({ value, from }: PolicyLine): ExplainedLine {
  return { path: value, from };
}

function pathOf({ path, from }: PathLine): ExplainedLine {
  return { path, from };
}

/** Without a scratch layer around it, nothing can be shown in the place of what is missing. */
function explainedCaches({ caches }: CommandPolicy, scratch: readonly string[]): RunExplanation["caches"] {
  const { root: folder, limit, shared } = caches;
  const isShown = ({ path }: PathLine) => isThere(path) || scratch.some((at) => isAtOrBelow(path, at));
  return { paths: shared.filter(isShown).map(pathOf), folder, limit };
}

function scratchPaths(
  environment: Environment,
  resources: readonly string[],
  { denied, ownHome }: CommandPolicy,
): readonly string[] {
  const table = MountTable.read();
  const cannotCover = (at: string) => !mayMountOnMachine() && hasMountsBelow(table, at);
  const hidden = denied.map(({ path }) => path);
  const request = { environment, folder: "", resources, hidden, cannotCover, ownHome: ownHome?.path };
  return scratchLayers(request).map(({ at }) => at);
}
