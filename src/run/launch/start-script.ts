import type { TerminalUse } from "../../system/terminal/command-streams.ts";
import type { CommandEnvironment } from "../environment.ts";
import type { OwnProcessLimit } from "../limits/command-limits.ts";
import { quoted } from "./shell-words.ts";
import type { Tools } from "./tools.ts";

/**
 * The script of the first process inside: a shell without privileges that starts the command, reaps orphans,
 * and ends with the exit code of the command. When it ends, the kernel kills every process left in the
 * namespace.
 *
 * The command has fewer rights than this shell (see launch-command.ts), so it can't trace it, stop it or
 * write into it.
 */
export interface StartScript {
  readonly tools: Tools;
  /** What the command must have less than this shell. */
  readonly less: LessRights;
  readonly environment: CommandEnvironment;
  /** The limit of processes, if it must be set in the command's own user namespace. */
  readonly processLimit?: OwnProcessLimit | undefined;
  readonly terminal: TerminalUse;
}

/**
 * How the command gets fewer rights than the shell that waits for it: without one capability; as itself in a
 * second user namespace; or not at all, where both are inside of the same walls and the shell has nothing
 * that the command could want.
 */
export type LessRights =
  | { readonly without: string }
  | { readonly uid: number; readonly gid: number }
  | "nothing";

/** What the shell itself says, such as "Killed", is no output of the command: it is dropped. */
export function startScript(request: StartScript): string {
  return `${OUTLIVE}
echo ready >&3 || exit 1
${FIND}
case $drydock_found in
yes) ;;
no) printf 'drydock: %s: permission denied\\n' "$1" >&2; exit 126 ;;
*) printf 'drydock: %s: command not found\\n' "$1" >&2; exit 127 ;;
esac
exec 4>&2 2>/dev/null
${request.terminal === "none" ? `(exec ${prefix(request)} "$@" 2>&4 3>&- 4>&-)` : atTerminal(request)}
exit $?`;
}

/**
 * Signals to the group are for the command. Without a trap they would also end the shell that waits for it.
 * Children do not inherit traps.
 */
const OUTLIVE = "trap : INT QUIT TERM HUP";

/** Finds the program of the command, even where the shell has a builtin of that name. */
const FIND = `drydock_found=
drydock_try() {
  if [ -f "$1" ] && [ -x "$1" ]; then drydock_found=yes
  elif [ -f "$1" ]; then drydock_found=no
  fi
}
case $1 in
*/*) if [ -d "$1" ]; then drydock_found=no; else drydock_try "$1"; fi ;;
?*)
  drydock_rest=$PATH:
  while [ -n "$drydock_rest" ] && [ "$drydock_found" != yes ]; do
    drydock_folder=\${drydock_rest%%:*}
    drydock_rest=\${drydock_rest#*:}
    drydock_try "\${drydock_folder:-.}/$1"
  done ;;
esac`;

/**
 * With job control, the command is in the foreground of its terminal; or it starts in the background, and the
 * kernel stops it when it reads the keyboard. The shell tells Drydock why the command stopped. Drydock stops
 * itself or connects the keyboard, and answers when the command may go on.
 */
function atTerminal(request: StartScript): string {
  const command = `${prefix(request)} "$@" 2>&4 3>&- 4>&-`;
  return `set -m
${request.terminal === "connected" ? command : `${command} & wait %%`}
drydock_code=$?
while kill -0 %%; do
  case $drydock_code in
  ${SIGTTIN} | ${SIGTTOU}) echo keyboard >&3 ;;
  *) echo stopped >&3 ;;
  esac
  read -r drydock_line <&3 || exit 1
  fg %% >/dev/null
  drydock_code=$?
done
exit $drydock_code`;
}

/** The exit codes by which a shell reports that such a signal stopped a job. */
const SIGTTIN = 128 + 21;
const SIGTTOU = 128 + 22;

/**
 * The words before the command: they drop rights that the shell has, set the limit, and set the variables
 * that only the command may have.
 */
function prefix(request: StartScript): string {
  const { tools, processLimit, environment } = request;
  const words = [becomingLess(request)];
  // Only the innermost namespace counts nothing but the command.
  if (processLimit !== undefined)
    words.push(`${processLimit.program} --nproc=${processLimit.processes}:${processLimit.processes} --`);
  const variables = environment.exact.map(([name, value]) => quoted(`${name}=${value}`));
  if (variables.length > 0) words.push(tools.env, ...variables);
  return words.join(" ");
}

function becomingLess({ tools, less }: StartScript): string {
  // A program before the command, because the shell would take the name of a builtin for that.
  if (less === "nothing") return `${tools.setpriv} --pdeathsig keep --`;
  return "without" in less
    ? `${tools.setpriv} --bounding-set=-${less.without} --`
    : `${tools.unshare} --user --map-user=${less.uid} --map-group=${less.gid} --`;
}
