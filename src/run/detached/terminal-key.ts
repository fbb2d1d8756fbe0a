import { join } from "node:path";
import { terminalSocket } from "../../plans/history/detached-command.ts";
import { readTextFile } from "../../system/data/text-files.ts";
import { randomBytes } from "../../system/random-bytes.ts";
import { secretIn } from "../../system/state/secret-file.ts";

/**
 * The key of a plan's terminal, which every client must have: the content of a file in the state directory.
 * Where there are no namespaces, a command inside of a plan can connect to a socket there and list what there
 * is, but read no file.
 */
const NAME = "terminal.key";
const LONGEST = 4096;

/** The key; a new one, if the plan has none. */
export function ensureTerminalKey(stateDir: string, planId: string): string {
  return secretIn(pathOf(stateDir, planId), () => randomBytes(32).toString("base64url"));
}

/** The key, if the plan has one. */
export function terminalKey(stateDir: string, planId: string): string | undefined {
  return readTextFile(pathOf(stateDir, planId), LONGEST)?.text.trim();
}

function pathOf(stateDir: string, planId: string): string {
  return join(terminalSocket(stateDir, planId).folder, NAME);
}
