import { dirname, resolve } from "node:path";
import { splitHost } from "../core/resource/host-location.ts";
import type { ResourceTypeDefinition } from "../core/resource/resource-types.ts";
import { type Check, DEFAULT_CHECK_MS } from "../core/values/checks.ts";
import { copyPlain } from "../core/values/plain-data.ts";
import { parseDuration } from "./duration.ts";
import { fleetFrom } from "./fleet-section.ts";
import { inlineStrategies, strategyInForce } from "./inline-strategies.ts";
import { configJsonSchema } from "./json-schema.ts";
import { limitsFrom } from "./limits-section.ts";
import { policyLayers } from "./policy/policy-layer.ts";
import { type ConfigSource, type PositionOf, readConfig } from "./read-config.ts";
import {
  type ConfigValues,
  configSchema,
  type DeclaredNames,
  MODULE_AND_CLASS_PATTERN,
  PROGRAM_PATTERN,
} from "./schema.ts";
import {
  type Config,
  type CustomStrategy,
  DEFAULT_CALL_LIMIT_MS,
  type DeclaredResource,
  type SandboxSettings,
} from "./settings.ts";
import { parseSize } from "./size.ts";

/**
 * Reads a config. This module loads the YAML parser and the schema, which takes a tenth of a second: import
 * it only when there is a config.
 */

/**
 * The settings of a config's text. Fails by `ConfigError` with the first problem and the number of further
 * ones.
 */
export function loadConfig(source: ConfigSource): Config {
  const { values, placeOf } = readConfig(source, {
    schemaOf: (value) => configSchema(declaredNames(value)),
    jsonSchema: configJsonSchema,
  });
  return configFrom(source.file, values, placeOf);
}

/** Larger than any config file. */
const LONGEST_OPTIONS = 2 * 1024 * 1024;

function declaredNames(value: unknown): DeclaredNames {
  return {
    strategies: [
      ...keysAt(value, "sandbox", "custom_strategies"),
      ...inlineStrategies(value).map(({ text }) => text),
    ],
    resourceTypes: keysAt(value, "resource_types"),
    resources: keysAt(value, "resources"),
  };
}

function keysAt(value: unknown, ...path: readonly string[]): readonly string[] {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return [];
  const [key, ...rest] = path;
  return key === undefined ? Object.keys(value) : keysAt((value as { [key: string]: unknown })[key], ...rest);
}

function configFrom(file: string, values: ConfigValues, placeOf: PositionOf): Config {
  const folder = dirname(file);
  return {
    file,
    sandbox: sandboxFrom(values, folder, placeOf),
    checks: values.checks.map(checkFrom),
    run: policyLayers(values.run, "project", placeOf),
    resources: Object.entries(values.resources).map(([name, declared]) =>
      resourceFrom(name, declared, folder, values.fleet !== undefined),
    ),
    resourceTypes: Object.entries(values.resource_types).map(([name, declared]) =>
      resourceTypeFrom(name, declared, folder),
    ),
    ...fleetFrom(values.fleet),
  };
}

function sandboxFrom(config: ConfigValues, folder: string, placeOf: PositionOf): SandboxSettings {
  const { sandbox: values } = config;
  return {
    strategy: strategyInForce(values.strategy, folder),
    cleanup: values.cleanup,
    allowSetid: values.allow_setid,
    allowDevices: values.allow_devices,
    allowSelfRunning: values.allow_self_running,
    keepOutput: values.keep_output,
    checkpoint: { autoCreateOn: values.checkpoint.auto_create_on, keep: values.checkpoint.keep },
    undo: { keepMilliseconds: parseDuration(values.undo.keep) },
    merge: { keepBytes: parseSize(values.merge.keep) },
    closedPlans: {
      keepMilliseconds: parseDuration(values.closed_plans.keep),
      mostChanges: values.closed_plans.most_changes,
    },
    git: {
      fastForward: values.git.fast_forward,
      runHooks: values.git.run_hooks,
      limitMilliseconds: parseDuration(values.git.timeout),
    },
    transaction: {
      idleMilliseconds: parseDuration(values.transaction.idle),
      ageMilliseconds: parseDuration(values.transaction.age),
    },
    limits: limitsFrom(values.limits),
    customStrategies: [
      ...Object.entries(values.custom_strategies).map(([name, declared]) =>
        customStrategyFrom(name, declared, {
          folder,
          place: placeOf(["sandbox", "custom_strategies", name]),
        }),
      ),
      ...inlineStrategies(config).map(({ text, path }) =>
        customStrategyFrom(strategyInForce(text, folder), text, { folder, place: placeOf(path) }),
      ),
    ],
  };
}

function checkFrom(check: ConfigValues["checks"][number]): Check {
  if (typeof check === "string") return { run: check, time: DEFAULT_CHECK_MS };
  const { run, name, timeout } = check;
  return { run, ...(name !== undefined && { name }), time: parseDuration(timeout) };
}

function customStrategyFrom(
  name: string,
  declared: ConfigValues["sandbox"]["custom_strategies"][string],
  where: Pick<CustomStrategy, "folder" | "place">,
): CustomStrategy {
  if (typeof declared === "string") {
    const isProgram = PROGRAM_PATTERN.test(declared);
    const [, module = declared, className = ""] =
      (isProgram ? undefined : MODULE_AND_CLASS_PATTERN.exec(declared)) ?? [];
    return { name, module, className, limitMilliseconds: DEFAULT_CALL_LIMIT_MS, ...where };
  }
  const { module, class: className = "", options, timeout } = declared;
  return {
    name,
    module,
    className,
    // A copy, because maps of the document have no prototype, and the options are compared with those that a
    // sandbox was made with.
    ...(options !== undefined && {
      options: copyPlain(options, LONGEST_OPTIONS) as CustomStrategy["options"],
    }),
    limitMilliseconds: parseDuration(timeout),
    ...where,
  } as CustomStrategy;
}

function resourceFrom(
  name: string,
  declared: ConfigValues["resources"][string],
  folder: string,
  hasFleet: boolean,
): DeclaredResource {
  const { location, type, strategy, from, parent } = declared;
  const isElsewhere = hasFleet && splitHost(location) !== undefined;
  return {
    name,
    location: isUrl(location) || isElsewhere ? location : resolve(folder, location),
    ...(type === undefined ? {} : { type }),
    ...(strategy === undefined ? {} : { strategy: strategyInForce(strategy, folder) }),
    ...(from === undefined ? {} : { from }),
    ...(parent === undefined ? {} : { parent }),
  };
}

function resourceTypeFrom(
  name: string,
  declared: ConfigValues["resource_types"][string],
  folder: string,
): ResourceTypeDefinition {
  const { extends: base, sandbox_strategy: sandboxStrategy, strategies, capabilities } = declared;
  const { parent_types: parentTypes, child_types: childTypes } = declared;
  return {
    name,
    ...(base !== undefined && { extends: base }),
    ...(sandboxStrategy !== undefined && { sandboxStrategy: strategyInForce(sandboxStrategy, folder) }),
    ...(strategies !== undefined && { strategies: strategies.map((each) => strategyInForce(each, folder)) }),
    ...(parentTypes !== undefined && { parentTypes }),
    ...(childTypes !== undefined && { childTypes }),
    ...(capabilities !== undefined && { capabilities }),
  };
}

function isUrl(location: string): boolean {
  return /^[A-Za-z][A-Za-z0-9+.-]*:\/\//.test(location);
}
