import { ConfigError, SystemCallError } from "../../core/errors/errors.ts";
import { displayPath } from "../../core/paths/byte-path.ts";
import { readTextFile, type TextFile } from "../../system/data/text-files.ts";

/** The largest config that is read. */
const CONFIG_MAX_BYTES = 1024 * 1024;

/**
 * Reads a config by its real path; undefined if it does not exist. A config that can't be read is a
 * `ConfigError`.
 */
export function readConfigFile(file: string): TextFile | undefined {
  return asConfigError(file, () => readTextFile(file, CONFIG_MAX_BYTES));
}

/** Runs an action on a config file; a failed system call becomes a `ConfigError`. */
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
    hint: "Give the path of a file; save the output of a pipe to one first.",
    cause,
  });
}
