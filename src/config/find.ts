import { resolve } from "node:path";
import { ConfigError, UsageError } from "../core/errors/errors.ts";
import { displayPath } from "../core/paths/byte-path.ts";
import type { ConfigRemedy } from "../core/values/notice.ts";
import { realPathOf } from "../system/data/locations.ts";
import { nearestConfig } from "./nearest-config.ts";
import type { TrustStore } from "./trust/trust.ts";
import { asConfigError, readConfigFile } from "./yaml/config-file.ts";

/**
 * The config that applies. A config that the user names is trusted. A config that is found applies only if
 * the user has trusted its present content. It is then known by its real path, so that a link to a trusted
 * config, planted in another folder, can't apply to the things in that folder.
 */
export type LocatedConfig =
  | { readonly kind: "none" }
  | { readonly kind: "found"; readonly file: string; readonly text: string }
  /** A config exists but does not apply; `notice` is the line for the user. */
  | {
      readonly kind: "ignored";
      readonly file: string;
      readonly notice: string;
      readonly remedy: ConfigRemedy;
    };

export interface ConfigSearch {
  /** The path that the user gave, by an option or the environment. */
  readonly explicit?: string;
  readonly cwd: string;
  readonly trusted: TrustStore;
}

/** Finds the config for a command in this folder. */
export function locateConfig({ explicit, cwd, trusted }: ConfigSearch): LocatedConfig {
  return explicit === undefined ? foundConfig(cwd, trusted) : namedConfig(resolve(cwd, explicit), explicit);
}

function namedConfig(path: string, explicit: string): LocatedConfig {
  if (explicit === "") {
    throw new UsageError("The path of the config is empty.", {
      hint: "Give a path, or leave it out. It may come from DRYDOCK_CONFIG.",
    });
  }
  const file = asConfigError(path, () => realPathOf(path));
  const content = file === undefined ? undefined : readConfigFile(file);
  if (file === undefined || content === undefined) {
    throw new ConfigError(`There is no config at ${displayPath(path)}.`, {
      file: path,
      code: "NO_CONFIG",
    });
  }
  return { kind: "found", file, text: content.text };
}

function foundConfig(cwd: string, trusted: TrustStore): LocatedConfig {
  const path = nearestConfig(cwd);
  const file = path === undefined ? undefined : realPathOf(path);
  const verdict = file === undefined ? undefined : trusted.readTrusted(file);
  if (path === undefined || file === undefined || verdict === undefined) return { kind: "none" };
  if (verdict.trusted) return { kind: "found", file, text: verdict.text };
  return {
    kind: "ignored",
    file,
    notice: `ignoring ${displayPath(path)}: ${verdict.why}`,
    remedy: verdict.remedy,
  };
}
