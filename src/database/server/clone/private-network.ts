import { systemProgram } from "../../../system/process/programs.ts";
import { runProcess } from "../../../system/process/run-process.ts";
import type { Program } from "../../../system/process/start-process.ts";

/**
 * Folders of the system, which hold programs and no sockets of servers. All others are empty for a server of
 * ours: a local socket is reached by its path, from any network.
 */
const OF_SYSTEM = "/usr|/bin|/sbin|/lib*|/etc|/dev|/proc|/sys|/nix|/gnu";
/**
 * Run as the root of a user namespace: two identities, how many folders stay, these, and the program. The new
 * root is put together and the old one detached with all that is mounted in it: a server that lives as long
 * as its plan would otherwise hold the mounts of other plans.
 */
const HIDE = `set -eu
user=$1 group=$2 count=$3; shift 3
[ "$count" -lt 1 ] || exec 3<"$1"
[ "$count" -lt 2 ] || exec 4<"$2"
[ "$count" -lt 3 ] || exec 5<"$3"
for root in /tmp /run /var /mnt; do [ ! -d "$root" ] || [ -L "$root" ] || break; done
mount -n -t tmpfs -o mode=755 none "$root"
for at in /* /.[!.]*; do
  if [ -L "$at" ]; then cp -P "$at" "$root$at"
  elif [ -d "$at" ]; then
    mkdir "$root$at"
    case $at in ${OF_SYSTEM}) mount -n --rbind "$at" "$root$at" ;; esac
  fi
done
if [ -d /dev/shm ]; then mount -n -t tmpfs -o mode=755 none "$root/dev/shm"; fi
number=3
while [ "$count" -gt 0 ]; do
  mkdir -p "$root$1"
  mount -n -c --rbind "/proc/self/fd/$number" "$root$1"
  shift; number=$((number + 1)); count=$((count - 1))
done
exec 3<&- 4<&- 5<&-
cd "$root"
mkdir .old
pivot_root . .old
cd /
umount -n -l /.old
rmdir /.old
exec unshare --user "--map-user=$user" "--map-group=$group" -- "$@"`;

/** Servers refuse to run as root. Any other user will do: outside it is still the one that started it. */
const NOT_ROOT = 65534;
const ANSWER_MS = 10_000;

/**
 * Runs a program in a network namespace of its own, in which there is nothing, not even a loopback that is
 * up, and where of the file system there are only the folders of the system and `keeps`, at most three: a
 * clone reaches no server, whatever the database that it was made from has stored. The user namespace around
 * it needs no privilege, and one inside makes root look like another user.
 */
export function withoutNetwork({ file, args, ...rest }: Program, keeps: readonly string[]): Program {
  const [user, group] = [process.geteuid?.() ?? 0, process.getegid?.() ?? 0].map((id) =>
    String(id === 0 ? NOT_ROOT : id),
  );
  const kept = keeps.filter((path) => path !== "/" && path !== "/usr");
  const inside = [user ?? "", group ?? "", String(kept.length), ...kept, file, ...args];
  const namespaces = ["--user", "--map-root-user", "--net", "--mount"];
  return { ...rest, file: unshareProgram(), args: [...namespaces, "--", "sh", "-c", HIDE, "sh", ...inside] };
}

/** Why programs can't run without a network here; undefined if they can. */
export async function whyNotWithoutNetwork(): Promise<string | undefined> {
  if (systemProgram("unshare") === undefined) return "the program unshare is missing";
  const truth = systemProgram("true") ?? "/bin/true";
  const { code, stderr } = await runProcess(withoutNetwork({ file: truth, args: [] }, []), {
    limitMs: ANSWER_MS,
  });
  return code === 0
    ? undefined
    : `a server without a network can't be started here: ${stderr.trim() || `unshare ended with ${code}`}`;
}

function unshareProgram(): string {
  return systemProgram("unshare") ?? "unshare";
}
