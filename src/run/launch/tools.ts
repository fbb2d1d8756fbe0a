import { UnsupportedError } from "../../core/errors/errors.ts";
import { systemProgram } from "../../system/process/programs.ts";

/** Programs of util-linux and the shell; all are essential packages in Debian. */
const NEEDED = ["sh", "env", "unshare", "nsenter", "setpriv"] as const;

/** The paths of the programs that start a command inside. */
export type Tools = { readonly [name in (typeof NEEDED)[number]]: string };

export function findTools(): Tools {
  const found = NEEDED.map((name) => [name, systemProgram(name)] as const);
  const missing = found.filter(([, path]) => path === undefined).map(([name]) => name);
  if (missing.length > 0) {
    throw new UnsupportedError(`A command can't be run inside: ${missing.join(", ")} is not installed.`, {
      hint: "Install util-linux, or work at the path of the sandbox.",
      code: "COMMAND_NOT_STARTED",
    });
  }
  return Object.fromEntries(found) as Tools;
}
