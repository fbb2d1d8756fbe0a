import { ConfigError, SystemCallError } from "../../core/errors/errors.ts";
import { displayPath } from "../../core/paths/byte-path.ts";
import { readTextFile, type TextFile } from "../../system/data/text-files.ts";

/** The name by which a config is found. */
export const CONFIG_FILE_NAME = "drydock.yaml";

/** No config is larger; what is, is not one. */
const CONFIG_MAX_BYTES = 1024 * 1024;

/**
 * Reads a config by its real path, or returns undefined if there is none. One that can't be read is a
 * `ConfigError`.
 */
export function readConfigFile(file: string): TextFile | undefined {
  return asConfigError(file, () => readTextFile(file, CONFIG_MAX_BYTES));
}

/** Does something with a config file; a failed system call is the config's error. */
export function asConfigError<T>(file: string, action: () => T): T {
  try {
    return action();
  } catch (thrown) {
    if (!(thrown instanceof SystemCallError)) throw thrown;
    if (["EINVAL", "ENXIO"].includes(thrown.code)) throw noFile(file, thrown);
    throw new ConfigError(`The config ${displayPath(file)} cannot be read: ${thrown.message}`, {
      file,
      hint: thrown.code === "EFBIG" ? "Give a config of less than 1 MiB." : thrown.hint,
      cause: thrown,
    });
  }
}

function noFile(file: string, cause: unknown): ConfigError {
  return new ConfigError(`The config ${displayPath(file)} is not a regular file.`, {
    file,
    hint: "Give the path of a file; what comes through a pipe has to be saved first.",
    cause,
  });
}
