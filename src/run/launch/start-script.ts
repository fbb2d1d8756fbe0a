import type { TerminalUse } from "../../system/terminal/handed-streams.ts";
import type { CommandEnvironment } from "../environment.ts";
import type { OwnProcessLimit } from "../limits/command-limits.ts";
import { quoted } from "./shell-words.ts";
import type { Tools } from "./tools.ts";

/**
 * What the first process inside does: a shell without privileges, which starts the command, reaps what others
 * leave, and ends with the exit code of the command. At its end the kernel ends everything that is left in
 * the namespace.
 *
 * The command may do less than this shell (see launch-command.ts), so it can't trace it, stop it or write
 * into it.
 */
export interface StartScript {
  readonly tools: Tools;
  readonly privileged: boolean;
  /** Who the command is. */
  readonly user: { readonly uid: number; readonly gid: number };
  readonly environment: CommandEnvironment;
  /** How many processes there may be of it, if that has to be said in its own user namespace. */
  readonly processLimit?: OwnProcessLimit | undefined;
  readonly terminal: TerminalUse;
}

export function startScript(request: StartScript): string {
  return `${OUTLIVE}
echo ready >&3 || exit 1
${FIND}
case $drydock_found in
yes) ;;
no) printf 'drydock: %s: permission denied\\n' "$1" >&2; exit 126 ;;
*) printf 'drydock: %s: command not found\\n' "$1" >&2; exit 127 ;;
esac
${request.terminal === "none" ? `(exec ${prefix(request)} "$@" 3>&-)` : atTerminal(request)}
exit $?`;
}

/**
 * Signals to its group are for the command; a shell that waits for it would end with it. Children do not
 * inherit this.
 */
const OUTLIVE = "trap : INT QUIT TERM HUP";

/** The command is a program, also where the shell has a command of that name. */
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
 * With job control the command is the foreground of its terminal; or it begins in the background, and is
 * stopped when it wants the keyboard. What it is stopped for is told to Drydock, which stops itself or hands
 * over the keyboard, and says when to go on. The shell's own words about that are for nobody.
 */
function atTerminal(request: StartScript): string {
  const command = `${prefix(request)} "$@" 2>&4 3>&- 4>&-`;
  return `exec 4>&2 2>/dev/null
set -m
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

/** How a shell says by which signal a job was stopped. */
const SIGTTIN = 128 + 21;
const SIGTTOU = 128 + 22;

/**
 * What makes the command less than the shell, limits it, and sets the variables that no other program may
 * have.
 */
function prefix(request: StartScript): string {
  const { tools, processLimit, environment } = request;
  const words = [becomingLess(request)];
  // Only here, in the innermost namespace, nothing counts but the command.
  if (processLimit !== undefined)
    words.push(`${processLimit.program} --nproc=${processLimit.processes}:${processLimit.processes} --`);
  const variables = environment.exact.map(([name, value]) => quoted(`${name}=${value}`));
  if (variables.length > 0) words.push(tools.env, ...variables);
  return words.join(" ");
}

function becomingLess({ tools, privileged, user: { uid, gid } }: StartScript): string {
  return privileged
    ? `${tools.setpriv} --bounding-set=-wake_alarm --`
    : `${tools.unshare} --user --map-user=${uid} --map-group=${gid} --`;
}
