import { readFileSync } from "node:fs";
import { unlessFailed } from "../calls/errno.ts";
import type { Folder } from "../calls/folder.ts";
import { isThere } from "../data/existence.ts";
import { systemProgram } from "../process/programs.ts";
import { runProcess } from "../process/run-process.ts";

const LIMIT_MS = 10_000;
const OPTIONS =
  "lowerdir=lower,upperdir=upper,workdir=work,userxattr,volatile,redirect_dir=nofollow,metacopy=off,index=off";
/** The mount is in the namespace only, and ends with its last process. */
const SCRIPT = `mount -t overlay drydock-probe -o ${OPTIONS} merged && : > merged/made && rm merged/lowered`;

/** Settings that disable user namespaces, what they mean, and what root of the machine can do about them. */
const SWITCHES = [
  {
    file: "/proc/sys/user/max_user_namespaces",
    off: "0",
    name: "user.max_user_namespaces is 0",
    remedy: "set user.max_user_namespaces to more than 0 with sysctl",
  },
  {
    file: "/proc/sys/kernel/unprivileged_userns_clone",
    off: "0",
    name: "kernel.unprivileged_userns_clone is 0",
    remedy: "set kernel.unprivileged_userns_clone to 1 with sysctl",
  },
  {
    file: "/proc/sys/kernel/apparmor_restrict_unprivileged_userns",
    off: "1",
    name: "kernel.apparmor_restrict_unprivileged_userns is 1",
    remedy:
      "install the AppArmor profile packaging/apparmor/drydock (its first lines say how), which lets Drydock make user namespaces",
  },
] as const;
/** Files that only a container has. */
const CONTAINER_MARKS = [
  "/.dockerenv",
  "/run/.containerenv",
  "/run/systemd/container",
  "/var/run/secrets/kubernetes.io",
];
const CONTAINER_REMEDY =
  "start the container with --cap-add SYS_ADMIN and --security-opt apparmor=unconfined, or in Kubernetes with that capability";

/** What would give this process namespaces, as a clause; undefined if that is not known. */
export function namespaceRemedy(): string | undefined {
  const off = SWITCHES.find(isOff);
  // A container has a profile of its own, in which that of AppArmor for programs does not count.
  const isAnswer = off !== undefined && !off.file.includes("apparmor");
  return !isAnswer && CONTAINER_MARKS.some(isThere) ? CONTAINER_REMEDY : off?.remedy;
}

/** The settings of the machine on which user namespaces depend. */
export function namespaceSettings(): readonly string[] {
  return SWITCHES.map(({ file }) => `${file} ${settingIn(file) ?? ""}`);
}

function isOff({ file, off }: (typeof SWITCHES)[number]): boolean {
  return settingIn(file) === off;
}

/**
 * Why no overlay can be mounted in a user namespace here; undefined if one can. Tries it, with the folders
 * lower (with a file `lowered`), upper, work and merged in the given folder.
 */
export async function whyNoUserNamespaceOverlay(folder: Folder): Promise<string | undefined> {
  const unshare = systemProgram("unshare");
  if (unshare === undefined) return "the program unshare (util-linux) is not installed";
  const { failed, said } = await run(unshare, folder);
  if (!failed) return undefined;
  const off = SWITCHES.find(isOff);
  if (/unrecognized option/.test(said)) return `the program unshare is too old (${said})`;
  if (!/^unshare:/.test(said)) return `the kernel mounts no overlay in a user namespace (${said})`;
  return off === undefined
    ? `no user namespace can be made (${said})`
    : `user namespaces are switched off (${off.name})`;
}

async function run(
  unshare: string,
  folder: Folder,
): Promise<{ readonly failed: boolean; readonly said: string }> {
  const args = ["--user", "--map-current-user", "--keep-caps", "--mount", "--", "/bin/sh", "-c", SCRIPT];
  // By descriptor, because the path may contain bytes that can't be passed. The new namespace inherits the
  // working folder.
  const cwd = `/proc/self/fd/${folder.fd}`;
  const { code, stderr } = await runProcess({ file: unshare, args, cwd }, { limitMs: LIMIT_MS });
  const [line = ""] = stderr.trim().split("\n");
  return { failed: code !== 0, said: line || `ended with ${code ?? "a signal"}` };
}

function settingIn(file: string): string | undefined {
  return unlessFailed(["ENOENT", "EACCES"], () => readFileSync(file, "utf8").trim());
}
