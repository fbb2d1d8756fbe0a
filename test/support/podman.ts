import { existsSync } from "node:fs";

/**
 * podman puts a container together only where control groups are of one kind. So it runs in a mount namespace
 * in which there are those of the second kind alone; it uses none. Its mounts go with that namespace, and it
 * ends with the test process.
 */
const ONE_KIND = `mount --make-rprivate /
  umount --recursive --lazy /sys/fs/cgroup
  mount -t cgroup2 none /sys/fs/cgroup
  exec setpriv --pdeathsig KILL -- podman "$@"`;

/** A reason to skip tests with podman; undefined if there is none. */
export function whyNoPodman(): string | undefined {
  if (process.geteuid?.() !== 0) return "only root starts these containers";
  const found = ["/usr/bin/podman", "/usr/bin/crun"].every((program) => existsSync(program));
  return found ? undefined : "needs podman and crun";
}

/** The command that runs podman with these arguments. */
export function podmanCommand(args: readonly string[]): readonly [string, readonly string[]] {
  return ["unshare", ["--mount", "sh", "-ec", ONE_KIND, "sh", ...args]];
}
