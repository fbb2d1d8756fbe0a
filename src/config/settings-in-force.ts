import { displayPath } from "../core/paths/byte-path.ts";
import type { Notice } from "../core/values/notice.ts";
import { type ConfigSearch, locateConfig } from "./find.ts";
import { DEFAULT_SETTINGS, type Settings } from "./settings.ts";
import { filePathOf } from "./trust/module-location.ts";
import type { TrustStore } from "./trust/trust.ts";
import type { TrustedModule } from "./trust/trust-records.ts";
import type { Environment } from "./yaml/environment-references.ts";

/** Where to look for a config, and whom to tell about an ignored one. */
export interface SettingsSearch extends ConfigSearch {
  readonly environment: Environment;
  readonly notice: (notice: Notice) => void;
}

/** The settings of a command: those of the config that applies, else the defaults. */
export async function settingsInForce({ notice, environment, ...search }: SettingsSearch): Promise<Settings> {
  const located = locateConfig(search);
  if (located.kind === "ignored")
    notice({
      kind: "ignored-config",
      file: located.file,
      message: located.notice,
      remedy: located.remedy,
    });
  if (located.kind !== "found") return DEFAULT_SETTINGS;
  const { loadConfig } = await import("./load.ts");
  const config = loadConfig({ file: located.file, text: located.text, environment });
  // A config that the user names applies as it is, with everything that it loads.
  if (search.explicit !== undefined) return config;
  const refusal = search.trusted.whyModulesDiffer(config.file, modulesOf(config));
  if (refusal === undefined) return config;
  const message = `ignoring ${displayPath(config.file)}: ${refusal.why}`;
  notice({ kind: "ignored-config", file: config.file, message, remedy: refusal.remedy });
  return DEFAULT_SETTINGS;
}

/** The files that `trust` covers, and those that it does not. */
export interface TrustedConfig {
  readonly file: string;
  /** The files that are loaded with the modules of the config. */
  readonly modules: readonly TrustedModule[];
  /** Packages that these files import, which the trust does not cover. */
  readonly packages: readonly string[];
  /** The files that hold invisible characters. */
  readonly hidesText: readonly string[];
}

/** Trusts the present content of a config, and of the files that are loaded with its modules. */
export async function trustConfig(
  path: string,
  { trusted, environment }: { readonly trusted: TrustStore; readonly environment: Environment },
): Promise<TrustedConfig> {
  const { loadConfig } = await import("./load.ts");
  const modulesIn = (file: string, text: string) => modulesOf(loadConfig({ file, text, environment }));
  const { file, modules, packages, hidesText } = trusted.trust(path, modulesIn);
  return { file, modules, packages, hidesText };
}

/** The files of the modules that a config names. */
function modulesOf({ sandbox }: Settings): readonly string[] {
  return sandbox.customStrategies.flatMap((declared) => filePathOf(declared) ?? []);
}
