import { bytesFromPath, parentPath } from "../core/byte-path.ts";
import { isOnlyForCommand } from "./environment.ts";
import { quoted } from "./shell-words.ts";
import type { Tools } from "./tools.ts";

/**
 * How a command comes to be inside. Paths and arguments may hold any bytes, which Node can't pass in an argument, so all of this is a script,
 * and the script is a file at descriptor 3.
 *
 * 1. `unshare` makes the namespaces and becomes a shell, which only waits: it must outlive whatever is typed at the terminal. Through it others
 *    get into the same view.
 * 2. Its one child is the first process of the new pid namespace. It mounts the new root, everything at once from the table at descriptor 5,
 *    moves into it and detaches the old one: from here nothing of the host can be reached but what is shown.
 * 3. It gives up all privileges and becomes a shell again, which starts the command and waits. When it ends, the kernel ends everything
 *    that is left in the namespace.
 *
 * Until the command starts, standard error is a pipe to Drydock, for what programs complain about and at last "ready"; the real one is at
 * descriptor 4.
 *
 * Each dies with its parent (pdeathsig), so nothing outlives Drydock. Whoever could not say "ready" has lost it meanwhile.
 */
export interface Launch {
  readonly tools: Tools;
  /** Whether we may mount as we like. Else a user namespace gives us that right until the command starts. */
  readonly privileged: boolean;
  /** Who the command is. */
  readonly user: { readonly uid: number; readonly gid: number };
  readonly network: boolean;
  /** The pid of a process whose view is taken over. */
  readonly joins?: number;
  /** The folder that relative paths of the table are meant from. */
  readonly folder: string;
  /** Where the new root is put together. */
  readonly root: string;
  /** The rest is meant in the new root. */
  readonly cwd: string;
  readonly command: readonly string[];
  /** Links that are put into sandboxes, to what is shown elsewhere. */
  readonly links: readonly { readonly at: string; readonly to: string }[];
  /** Variables that have to be set here, because Node could not. */
  readonly variables: readonly (readonly [name: string, value: string])[];
  /** What LC_ALL is for the command; until then messages are in English. */
  readonly locale: string | undefined;
}

/** What root keeps: what programs that manage files and users need, and nothing that reaches the kernel, devices or other processes. */
const ROOT_KEEPS = [
  ..."chown dac_override fowner fsetid kill setgid setuid setpcap net_bind_service".split(" "),
  ..."net_raw sys_chroot mknod audit_write setfcap".split(" "),
];

/** What is typed at the terminal is for the command; a shell that waits for it would end with it. Children do not inherit this. */
const OUTLIVE = "trap : INT QUIT TERM HUP";

/** A shell keeps only variables that it could have itself. */
const SHELL_NAME = /^[A-Za-z_][A-Za-z0-9_]*$/;

/** The program to start, and its arguments. */
export function launchArguments(launch: Launch): { readonly file: string; readonly args: readonly string[] } {
  const { tools, privileged, network, joins } = launch;
  // Whoever made a user namespace is root in it as soon as he enters, and needs no other.
  const enter = [
    tools.nsenter,
    `--target=${joins}`,
    "--mount",
    ...(privileged ? [] : ["--user", "--preserve-credentials"]),
  ];
  const own = privileged || joins !== undefined ? [] : ["--user", "--map-root-user"];
  const namespaces = ["--mount", "--pid", "--ipc", ...(network ? [] : ["--net"]), ...own];
  const shell = joins === undefined ? [tools.sh, "/dev/fd/3"] : [tools.sh, "-c", READ_SCRIPT];
  const start = [...(joins === undefined ? [] : enter), tools.unshare, ...namespaces, "--", ...shell];
  return { file: tools.setpriv, args: ["--pdeathsig", "KILL", "--", ...start] };
}

/** In somebody else's view there is no /dev/fd that would be ours, and a process of its own would be the first of the namespace. */
const READ_SCRIPT = `while IFS= read -r drydock_line; do drydock_script="$drydock_script$drydock_line
"; done <&3; eval "$drydock_script"`;

/** The script, see above. */
export function launchScript(launch: Launch): Buffer {
  const { tools, joins, network } = launch;
  const lines = [
    OUTLIVE,
    "(",
    // A view that is taken over shows the processes of another namespace.
    ...(joins === undefined ? [] : [`${tools.mount} -t proc drydock /proc >&2 || exit 1`]),
    `cd ${quoted(launch.folder)} || exit 1`,
    `${tools.mount} -a -T /dev/fd/5 >&2 || exit 1`,
    `cd ${quoted(launch.root)} || exit 1`,
    `${tools.pivot_root} . . >&2 || exit 1`,
    `${tools.umount} -l . >&2 || exit 1`,
    ...(network || tools.ip === undefined ? [] : [`${tools.ip} link set lo up`]),
    ...launch.links.map((link) => linkLine(tools, link)),
    `cd ${quoted(launch.cwd)} || exit 1`,
    ...environmentLines(launch),
    "exec 3<&- 5<&- 6<&- 7<&- 8<&- 9<&-",
    `exec ${withoutPrivileges(launch)} ${tools.sh} -c ${quoted(startCommand(launch))} drydock ${launch.command.map(quoted).join(" ")}`,
    ")",
    "exit $?",
  ];
  return bytesFromPath(`${lines.join("\n")}\n`);
}

/** In a folder that a command has removed in its sandbox there is nothing to be put. */
function linkLine(tools: Tools, { at, to }: Launch["links"][number]): string {
  return `if [ -d ${quoted(parentPath(at) || "/")} ]; then ${tools.ln} -sfn -- ${quoted(to)} ${quoted(at)} >&2 || exit 1; fi`;
}

/** The others are set by `env`, for the command alone. */
function isKeptByShell(name: string): boolean {
  return SHELL_NAME.test(name) && !isOnlyForCommand(name);
}

function environmentLines({ variables, locale }: Launch): readonly string[] {
  const ours = variables.filter(([name]) => isKeptByShell(name));
  return [
    // Changing folders sets it.
    "unset OLDPWD LC_ALL",
    ...(locale === undefined ? [] : [`export LC_ALL=${quoted(locale)}`]),
    ...ours.map(([name, value]) => `export ${name}=${quoted(value)}`),
  ];
}

/** What stands before a program that is to run without privileges. Who was root in a user namespace becomes himself again in one more. */
function withoutPrivileges({ tools, privileged, user: { uid, gid } }: Launch): string {
  const drop = `${tools.setpriv} --pdeathsig KILL --no-new-privs --inh-caps=-all --ambient-caps=-all`;
  if (privileged) return `${drop} --bounding-set=-all${ROOT_KEEPS.map((name) => `,+${name}`).join("")} --`;
  return `${tools.unshare} --user --map-user=${uid} --map-group=${gid} -- ${drop} --`;
}

/** What the shell inside does. It finds the command itself, because its own built-in commands are none. */
function startCommand({ tools, variables }: Launch): string {
  const foreign = variables.filter(([name]) => !isKeptByShell(name)).map(([name, value]) => quoted(`${name}=${value}`));
  const prefix = foreign.length === 0 ? "" : `${tools.env} ${foreign.join(" ")} `;
  return `${OUTLIVE}
echo ready >&2 || exit 1
exec 2>&4 4>&-
drydock_found=
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
esac
case $drydock_found in
yes) (exec ${prefix}"$@") ;;
no) printf 'drydock: %s: permission denied\\n' "$1" >&2; exit 126 ;;
*) printf 'drydock: %s: command not found\\n' "$1" >&2; exit 127 ;;
esac
exit $?`;
}
