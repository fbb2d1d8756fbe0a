import type { PolicyLayer, PolicyLine } from "../../core/values/run-policy.ts";
import {
  commonRule,
  type NetworkRule,
  networkRuleText,
  parseNetworkRules,
} from "../../system/network/network-rule.ts";

/** What a user says about the network of one command. */
export type NetworkWish = "open" | "none" | { readonly allow: readonly string[] };

/** A rule, and the line that says so. */
export interface RuleLine {
  readonly rule: NetworkRule;
  readonly from: string;
}

/** What a command may reach: all that its user can, nothing, or what these rules say. */
export interface NetworkInForce {
  readonly mode: "open" | "none" | "allow";
  /** The line that says so; absent if none does. */
  readonly from?: string;
  /** With `allow`. */
  readonly rules: readonly RuleLine[];
  /** Lines of a project that ask for more than the user's own config allows. */
  readonly refused: readonly PolicyLine[];
}

const OPEN: NetworkInForce = { mode: "open", rules: [], refused: [] };

/**
 * The network of a command. Of the user's layers the last that says something counts, before all others the
 * user's word for this command. Profiles never close the network: what they need counts once the user does. A
 * project's layer allows at most what the user does.
 */
export function networkInForce(
  user: readonly PolicyLayer[],
  project: readonly PolicyLayer[],
  wish: NetworkWish | undefined,
): NetworkInForce {
  const needed = user.flatMap(({ needs = [] }) => needs);
  const said =
    wish === undefined ? user.findLast(({ network }) => network !== undefined)?.network : wished(wish);
  return project
    .flatMap(({ network }) => network ?? [])
    .reduce((outer, line) => narrowed(outer, ofLine(line)), said === undefined ? OPEN : ofLine(said, needed));
}

type NetworkLines = NonNullable<PolicyLayer["network"]>;

function wished(wish: NetworkWish): NetworkLines {
  const from = "--network";
  if (typeof wish === "string") return { mode: wish, from };
  return { mode: "allow", from, allow: wish.allow.map((value) => ({ value, from })) };
}

function ofLine(
  { mode, from, allow = [] }: NetworkLines,
  needed: readonly PolicyLine[] = [],
): NetworkInForce {
  const lines = mode === "allow" ? [...allow, ...needed] : [];
  const rules = lines.flatMap((line) =>
    parseNetworkRules(line.value).map((rule) => ({ rule, from: line.from })),
  );
  return { mode, from, rules, refused: [] };
}

/** What both allow; and what the inner one asks for that the outer one does not allow. */
function narrowed(outer: NetworkInForce, inner: NetworkInForce): NetworkInForce {
  const { mode, from = "" } = inner;
  if (outer.mode === "open") return inner;
  if (mode === "open" || outer.mode === "none") {
    const asked = mode === "none" ? [] : [{ value: mode === "open" ? "an open network" : "a network", from }];
    return { ...outer, refused: [...outer.refused, ...asked] };
  }
  const common = inner.rules.map(({ rule, ...line }) => ({
    ...{ rule, line },
    shared: outer.rules.flatMap((each) => commonRule(each.rule, rule) ?? []),
  }));
  const refused = common
    .filter(({ rule, shared }) => !shared.some((each) => networkRuleText(each) === networkRuleText(rule)))
    .map(({ rule, line }) => ({ value: networkRuleText(rule), from: line.from }));
  return {
    ...{ mode, from },
    rules: common.flatMap(({ shared, line }) => shared.map((rule) => ({ rule, ...line }))),
    refused: [...outer.refused, ...refused],
  };
}
