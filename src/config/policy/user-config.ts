import { ConfigError } from "../../core/errors/errors.ts";
import { displayPath } from "../../core/paths/byte-path.ts";
import type { PolicyLayer } from "../../core/values/run-policy.ts";
import { realPathOf } from "../../system/data/locations.ts";
import { userConfigJsonSchema } from "../json-schema.ts";
import { readConfig } from "../read-config.ts";
import { type User, whyOthersControl } from "../trust/foreign-control.ts";
import { asConfigError, readConfigFile } from "../yaml/config-file.ts";
import type { Environment } from "../yaml/environment-references.ts";
import { policyLayers } from "./policy-layer.ts";
import { userConfigSchema } from "./policy-section.ts";

/**
 * What the user's own config says; nothing if there is none. The user wrote it, so it needs no trust, but
 * no other user may be able to.
 */
export function userPolicy(path: string, environment: Environment, user: User): readonly PolicyLayer[] {
  const file = asConfigError(path, () => realPathOf(path));
  const content = file === undefined ? undefined : readConfigFile(file);
  if (file === undefined || content === undefined) return [];
  const why = whyOthersControl(content, user);
  if (why !== undefined)
    throw new ConfigError(`The config ${displayPath(path)} does not apply: ${why}.`, {
      file,
      hint: `Look at it, then run: chmod go-w ${displayPath(path)}`,
    });
  const { values, placeOf } = readConfig(
    { file, text: content.text, environment },
    { schemaOf: userConfigSchema, jsonSchema: userConfigJsonSchema },
  );
  return policyLayers(values.run, "user", placeOf);
}
