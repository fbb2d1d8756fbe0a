import { spawnSync } from "node:child_process";
import { existsSync, globSync, readFileSync, symlinkSync } from "node:fs";
import { delimiter, join } from "node:path";

/**
 * What the tests need from the machine beyond Node: programs of a few Debian packages, and loop devices. As
 * root, missing packages are installed. What can't be had is said loudly, with what is lost; the tests that
 * need it skip themselves with their reason.
 */
interface Need {
  readonly program: string;
  /** Where it is, if that is not where programs usually are. */
  readonly folder?: string;
  readonly package: string;
  readonly lost: string;
}

const NEEDED: readonly Need[] = [
  { program: "strace", package: "strace", lost: "tests that trace system calls" },
  { program: "mkfs.xfs", package: "xfsprogs", lost: "tests on xfs" },
  { program: "mkfs.btrfs", package: "btrfs-progs", lost: "tests on btrfs" },
  { program: "mkfs.ext4", package: "e2fsprogs", lost: "tests on ext4 images, and of immutable files" },
  { program: "getfacl", package: "acl", lost: "tests of access control lists" },
  { program: "setfattr", package: "attr", lost: "tests of extended attributes by an independent program" },
  { program: "git-lfs", package: "git-lfs", lost: "tests of checkouts with large files" },
  { program: "bindfs", package: "bindfs", lost: "tests on a file system that can't exchange two files" },
  { program: "fuse-overlayfs", package: "fuse-overlayfs", lost: "tests of overlays by fuse" },
  {
    program: "sqlite3",
    package: "sqlite3",
    lost: "tests of databases with an independent program as the rival",
  },
  {
    program: "initdb",
    folder: "/usr/lib/postgresql/*/bin",
    package: "postgresql",
    lost: "tests of transactions held on PostgreSQL",
  },
  { program: "pgbouncer", package: "pgbouncer", lost: "tests of poolers before PostgreSQL" },
  { program: "mariadbd", package: "mariadb-server-core", lost: "tests of transactions held on MariaDB" },
  { program: "mariadb", package: "mariadb-client-core", lost: "tests of clients of MariaDB" },
  { program: "mariadb-dump", package: "mariadb-client", lost: "tests of clients of MariaDB" },
  { program: "ceph-mon", package: "ceph-mon", lost: "tests of the example for S3 buckets" },
  { program: "ceph-osd", package: "ceph-osd", lost: "tests of the example for S3 buckets" },
  { program: "radosgw", package: "radosgw", lost: "tests of the example for S3 buckets" },
  { program: "python3", package: "python3", lost: "tests of strategies and clients in Python" },
  { program: "chromium", package: "chromium", lost: "tests of the page of reviews" },
  { program: "groff", package: "groff-base", lost: "tests of the man page" },
  { program: "zsh", package: "zsh", lost: "tests of completion in zsh" },
  { program: "fish", package: "fish", lost: "tests of completion in fish" },
  { program: "podman", package: "podman", lost: "tests in containers" },
  { program: "crun", package: "crun", lost: "tests in containers" },
  { program: "cc", package: "gcc", lost: "tests of libraries that a command plants" },
  { program: "ip", package: "iproute2", lost: "tests of hosts on a network" },
  { program: "losetup", package: "util-linux", lost: "tests on file systems in images" },
  { program: "unshare", package: "util-linux", lost: "tests in namespaces of their own" },
];

export function prepareMachine(): void {
  // A run inside a run, which is how the test command is tested, finds the machine as the outer one left it.
  if (process.env["DRYDOCK_TEST_MACHINE"] === "ready") return;
  process.env["DRYDOCK_TEST_MACHINE"] = "ready";
  const missing = missingPrograms();
  if (missing.length > 0 && process.getuid?.() === 0)
    install([...new Set(missing.map((need) => need.package))]);
  const warnings = missingPrograms().map(
    (need) => `${need.program} (Debian: ${need.package}) is missing: ${need.lost}`,
  );
  if (process.getuid?.() !== 0) warnings.push("not root: tests that mount, change owners or make devices");
  else if (!existsSync("/dev/loop-control"))
    warnings.push("/dev/loop-control is missing: tests on file systems in images");
  if (warnings.length > 0) console.warn(banner("These tests will be SKIPPED", warnings));
}

/**
 * The PATH for a run. Managers of versions put a script in the place of Python, which takes ten times as long
 * to start as Python does, and the tests start it hundreds of times: in this folder is a link to what the
 * script starts.
 */
export function pathWithoutScripts(folder: string): string {
  const path = process.env["PATH"] ?? "";
  const found = path
    .split(delimiter)
    .map((each) => join(each, "python3"))
    .find((file) => existsSync(file));
  if (found === undefined || readFileSync(found).toString("latin1", 0, 2) !== "#!") return path;
  const ask = ["-c", "import sys; print(sys.executable)"];
  const { status, stdout } = spawnSync(found, ask, { encoding: "utf8" });
  if (status !== 0) return path;
  symlinkSync(stdout.trim(), join(folder, "python3"));
  return `${folder}${delimiter}${path}`;
}

export function banner(title: string, lines: readonly string[]): string {
  const rule = "=".repeat(100);
  return [rule, `${title}:`, ...lines.map((line) => `  - ${line}`), rule].join("\n");
}

function missingPrograms(): readonly Need[] {
  const usual = [...(process.env["PATH"] ?? "").split(delimiter), "/usr/sbin", "/sbin"];
  return NEEDED.filter(({ program, folder }) => {
    const folders = folder === undefined ? usual : globSync(folder);
    return !folders.some((each) => existsSync(join(each, program)));
  });
}

function install(packages: readonly string[]): void {
  const start = performance.now();
  const env = { ...process.env, DEBIAN_FRONTEND: "noninteractive" };
  for (const args of [["update"], ["install", "--yes", "--no-install-recommends", ...packages]]) {
    const result = spawnSync("apt-get", args, { env, encoding: "utf8", timeout: 420_000 });
    if (result.status !== 0) {
      const reason = result.error?.message ?? result.stderr.trim();
      console.warn(`✖ apt-get ${args.join(" ")} failed: ${reason}`);
      return;
    }
  }
  console.log(`✔ installed ${packages.join(", ")} (${((performance.now() - start) / 1000).toFixed(1)} s)`);
}
