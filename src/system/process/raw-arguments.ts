import { readFileSync, readlinkSync } from "node:fs";
import { UnsupportedError, UsageError } from "../../core/errors/errors.ts";
import { displayPath, pathFromBytes } from "../../core/paths/byte-path.ts";
import { failedWith } from "../calls/errno.ts";

/**
 * The exact bytes that this process was started with. Node decodes arguments, environment and current folder
 * as UTF-8 and puts U+FFFD where that fails; the kernel still has the bytes. They are read only where a
 * U+FFFD shows up.
 */
const REPLACEMENT = "\ufffd";

type Environment = { readonly [name: string]: string | undefined };

/** The last arguments of this process as strings of byte-path.ts; `decoded` holds Node's version of them. */
export function exactArguments(decoded: readonly string[]): readonly string[] {
  if (!decoded.some((argument) => argument.includes(REPLACEMENT))) return decoded;
  // Options of Node may precede ours, and not all of them are in process.execArgv, so we count from the end.
  return splitAtNul(readOwn("cmdline")).slice(-decoded.length);
}

/** The environment of this process as strings of byte-path.ts; `decoded` is Node's version of it. */
export function exactEnvironment(decoded: Environment): Environment {
  if (!Object.values(decoded).some((value) => value?.includes(REPLACEMENT))) return decoded;
  const exact = { ...decoded };
  for (const line of splitAtNul(readOwn("environ"))) {
    const equals = line.indexOf("=");
    const name = line.slice(0, equals);
    if (exact[name]?.includes(REPLACEMENT)) exact[name] = line.slice(equals + 1);
  }
  return exact;
}

/** The current folder of this process, as a string of byte-path.ts. */
export function exactCurrentFolder(): string {
  try {
    const decoded = process.cwd();
    if (!decoded.includes(REPLACEMENT)) return decoded;
    return pathFromBytes(readlinkSync("/proc/self/cwd", { encoding: "buffer" }));
  } catch (thrown) {
    if (!failedWith(thrown, "ENOENT")) throw thrown;
    throw new UsageError("The current folder is gone.", {
      hint: "Change to a folder that exists, and try again.",
      cause: thrown,
    });
  }
}

function readOwn(name: "cmdline" | "environ"): Buffer {
  const file = `/proc/self/${name}`;
  try {
    return readFileSync(file);
  } catch (thrown) {
    /* c8 ignore next 5 -- needs a machine without /proc, on which the tests can't run */
    throw new UnsupportedError(`Bytes that are not UTF-8 can't be read without ${displayPath(file)}.`, {
      hint: "Mount /proc, or use names that are UTF-8.",
      cause: thrown,
    });
  }
}

/** Each string ends with a NUL. */
function splitAtNul(bytes: Buffer): readonly string[] {
  const strings: string[] = [];
  for (let from = 0; from < bytes.length; ) {
    const end = bytes.indexOf(0, from);
    const to = end < 0 ? bytes.length : end;
    strings.push(pathFromBytes(bytes.subarray(from, to)));
    from = to + 1;
  }
  return strings;
}
