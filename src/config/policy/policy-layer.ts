import { LIMIT_NAMES } from "../../core/values/limits.ts";
import {
  type LimitLine,
  type PolicyLayer,
  type PolicyLine,
  type RulePair,
  SOCKET_NAMES,
} from "../../core/values/run-policy.ts";
import { limitsFrom } from "../limits-section.ts";
import { parseSize } from "../size.ts";
import type { ConfigPath } from "../yaml/config-problem.ts";
import type { PolicyValues } from "./policy-section.ts";

/**
 * What the section `run` of one file says: nothing, or one layer. `placeOf` gives the file, line and column
 * of a value.
 */
export function policyLayers(
  values: PolicyValues,
  owner: PolicyLayer["owner"],
  placeOf: (path: ConfigPath) => string,
): readonly PolicyLayer[] {
  const { profile, ports, channel, ...sections } = values;
  const whole = [profile, ports, channel];
  const said = [...whole, ...Object.values(sections).flatMap((section) => Object.values(section))];
  return said.every((value) => value === undefined) ? [] : [policyLayer(values, owner, placeOf)];
}

function policyLayer(
  values: PolicyValues,
  owner: PolicyLayer["owner"],
  placeOf: (path: ConfigPath) => string,
): PolicyLayer {
  const linesAt = (given: readonly string[] | undefined, ...path: readonly string[]) =>
    given?.map((value, index): PolicyLine => ({ value, from: placeOf(["run", ...path, index]) }));
  const rules = (
    given: { deny?: string[] | undefined; allow?: string[] | undefined },
    key: string,
  ): RulePair => {
    const allow = linesAt(given.allow, key, "allow");
    return { deny: linesAt(given.deny, key, "deny") ?? [], ...(allow !== undefined && { allow }) };
  };
  const { profile, read, home, cache, write, limits, sockets, network, channel, env } = values;
  const named = (wanted: boolean) =>
    SOCKET_NAMES.filter((name) => sockets[name] === wanted).map(
      (value): PolicyLine => ({ value, from: placeOf(["run", "sockets", value]) }),
    );
  const persist = linesAt(home.persist, "home", "persist");
  const writeBack = linesAt(home.write_back, "home", "write_back");
  const caches = linesAt(cache.shared, "cache", "shared");
  const protect = linesAt(write.protect, "write", "protect");
  const most = limitsFrom(limits);
  const bounds = LIMIT_NAMES.flatMap((name): readonly LimitLine[] => {
    const amount = most[name];
    const from = placeOf(["run", "limits", name]);
    return amount === undefined ? [] : [{ name, most: amount, value: String(limits[name]), from }];
  });
  const { scope, limit } = cache;
  const ports = linesAt(values.ports, "ports");
  const reachable = linesAt(network.allow, "network", "allow");
  const mode = network.mode ?? (reachable === undefined ? undefined : "allow");
  const set = Object.entries(env.set ?? {}).map(([name, value]) => ({
    ...{ name, value },
    from: placeOf(["run", "env", "set", name]),
  }));
  return {
    owner,
    ...(profile !== undefined && { profiles: typeof profile === "string" ? [profile] : profile }),
    read: rules(read, "read"),
    ...(home.own !== undefined && {
      ownHome: { isOn: home.own, from: placeOf(["run", "home", "own"]) },
    }),
    ...(persist !== undefined && { persist }),
    ...(writeBack !== undefined && { writeBack }),
    ...(caches !== undefined && { caches }),
    ...(scope !== undefined && { cacheScope: { value: scope, from: placeOf(["run", "cache", "scope"]) } }),
    ...(limit !== undefined && {
      cacheLimit: { value: limit, bytes: parseSize(limit), from: placeOf(["run", "cache", "limit"]) },
    }),
    ...(protect !== undefined && { protect }),
    ...(bounds.length > 0 && { limits: bounds }),
    ...(ports !== undefined && { ports }),
    ...(channel !== undefined && { channel: { isOn: channel, from: placeOf(["run", "channel"]) } }),
    ...(network.databases !== undefined && {
      databases: { isOn: network.databases, from: placeOf(["run", "network", "databases"]) },
    }),
    sockets: {
      allow: [...named(true), ...(linesAt(sockets.paths, "sockets", "paths") ?? [])],
      deny: named(false),
    },
    variables: { ...rules(env, "env"), set },
    ...(mode !== undefined && {
      network: {
        mode,
        from: placeOf(["run", "network", network.mode === undefined ? "allow" : "mode"]),
        ...(reachable !== undefined && { allow: reachable }),
      },
    }),
  };
}
