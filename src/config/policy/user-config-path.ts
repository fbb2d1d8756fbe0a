import { join } from "node:path";
import type { Environment } from "../yaml/environment-references.ts";

/** Where the user's own config is; undefined without a home. */
export function userConfigPath(environment: Environment): string | undefined {
  const { XDG_CONFIG_HOME: folder, HOME: home } = environment;
  if (folder?.startsWith("/") === true) return join(folder, "drydock/config.yaml");
  return home?.startsWith("/") === true ? join(home, ".config/drydock/config.yaml") : undefined;
}
