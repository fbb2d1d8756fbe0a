import { type SpawnSyncReturns, spawnSync } from "node:child_process";
import { chmodSync, cpSync, existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";

const DPKG = "/var/lib/dpkg";
const USER = 54321;

interface DebianPackage {
  readonly name: string;
  readonly isEssential: boolean;
  /** Each is a list of alternatives. */
  readonly needs: readonly (readonly string[])[];
  readonly provides: readonly string[];
  /** Its entry in the list of what is installed. */
  readonly status: string;
}

/** A reason why there can be no clean root here; undefined if there is none. */
export function whyNoCleanRoot(): string | undefined {
  if (process.geteuid?.() !== 0) return "only root can change its root";
  return existsSync("/usr/bin/dpkg-deb") ? undefined : "needs a Debian";
}

/**
 * A Debian with nothing in it but what every Debian has and what a package depends on, made of the files of
 * this machine. dpkg knows these packages, and no others.
 */
export class CleanRoot {
  readonly path: string;

  constructor(path: string, dependencies: readonly string[]) {
    this.path = path;
    const chosen = closureOf(installed(), dependencies);
    for (const name of ["bin", "sbin", "lib", "lib64"]) {
      mkdirSync(join(path, "usr", name), { recursive: true });
      symlinkSync(`usr/${name}`, join(path, name));
    }
    const info = join(path, DPKG, "info");
    for (const folder of [info, join(path, DPKG, "updates"), ...OWN_FOLDERS.map((name) => join(path, name))])
      mkdirSync(folder, { recursive: true });
    chmodSync(join(path, "tmp"), 0o1777);
    writeFileSync(join(path, DPKG, "status"), chosen.map(({ status }) => `${status}\n\n`).join(""));
    const lists = chosen.map(({ name }) => infoFile(name, "list"));
    for (const list of lists) cpSync(list, join(info, list.slice(list.lastIndexOf("/") + 1)));
    const files = lists.map((list) => readFileSync(list, "utf8")).join("");
    sh(TAKE, [path], files);
    writeFileSync(
      join(path, "etc/passwd"),
      `root:x:0:0::/root:/bin/sh\nme:x:${USER}:${USER}::/home/me:/bin/sh\n`,
    );
    writeFileSync(join(path, "etc/group"), `root:x:0:\nme:x:${USER}:\n`);
    sh('ldconfig -r "$1"; chown "$2:$2" "$1/home/me"', [path, String(USER)]);
  }

  /** Runs a script of sh in it, as root or as an ordinary user, with nothing in its environment. */
  run(script: string, who: "root" | "me" = "root"): SpawnSyncReturns<string> {
    const as = who === "root" ? "" : `setpriv --reuid=${USER} --regid=${USER} --clear-groups`;
    const home = who === "root" ? "/root" : "/home/me";
    return spawnSync(
      "unshare",
      ["--mount", "--pid", "--fork", "sh", "-ec", ENTER, "sh", this.path, as, home, script],
      { encoding: "utf8", timeout: 300_000 },
    );
  }

  /** The paths of everything in it, besides what dpkg writes down and what is in homes. */
  entries(): readonly string[] {
    const { stdout } = sh(
      'cd "$1" && find . -path ./var/lib/dpkg -prune -o -path ./home -prune -o -path ./root -prune -o -path ./proc -prune -o -print',
      [this.path],
    );
    return stdout.split("\n").sort();
  }
}

const OWN_FOLDERS = ["proc", "dev", "sys", "tmp", "run", "root", "home/me", "etc", "var/log"];

/** Copies the files of packages; some that they list are not there, because an administrator removed them. */
const TAKE = `tar --create --no-recursion --ignore-failed-read --warning=no-failed-read --directory=/ --files-from=- |
  tar --extract --keep-directory-symlink --directory="$1"`;

/** The root of a machine is a mount, which that of a plain chroot is not. */
const ENTER = `mount --bind "$1" "$1"
mount -t proc proc "$1/proc"
mount --rbind /dev "$1/dev"
mount --rbind /sys "$1/sys"
exec env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME="$3" DEBIAN_FRONTEND=noninteractive \\
  chroot "$1" $2 sh -ec "cd; $4"`;

function installed(): readonly DebianPackage[] {
  return readFileSync(`${DPKG}/status`, "utf8")
    .split("\n\n")
    .filter((entry) => /^Status: install ok installed$/m.test(entry))
    .map((status) => {
      const field = (name: string) => new RegExp(`^${name}: (.*)$`, "m").exec(status)?.[1] ?? "";
      const needs = [field("Pre-Depends"), field("Depends")].join(", ").split(",");
      return {
        name: field("Package"),
        isEssential: field("Essential") === "yes",
        needs: needs.filter((need) => need.trim() !== "").map((need) => need.split("|").map(nameIn)),
        provides: field("Provides").split(",").map(nameIn),
        status: status.trim(),
      };
    });
}

/** The essential packages and these, with all that they need. */
function closureOf(packages: readonly DebianPackage[], names: readonly string[]): readonly DebianPackage[] {
  const chosen = new Set(packages.filter(({ isEssential, name }) => isEssential || names.includes(name)));
  for (const { needs } of chosen) {
    for (const alternatives of needs) {
      const found = packages.find(
        ({ name, provides }) =>
          alternatives.includes(name) || alternatives.some((one) => provides.includes(one)),
      );
      if (found === undefined) throw new Error(`${alternatives.join(" | ")} is not installed here.`);
      chosen.add(found);
    }
  }
  return [...chosen];
}

/** "libc6:any (>= 2.28)" is libc6. */
function nameIn(need: string): string {
  return need.trim().split(/[ (:]/)[0] ?? "";
}

function infoFile(name: string, kind: string): string {
  const plain = `${DPKG}/info/${name}.${kind}`;
  return existsSync(plain) ? plain : `${DPKG}/info/${name}:${debianArchitecture()}.${kind}`;
}

function debianArchitecture(): string {
  return spawnSync("dpkg", ["--print-architecture"], { encoding: "utf8" }).stdout.trim();
}

function sh(script: string, args: readonly string[], input = ""): SpawnSyncReturns<string> {
  const ended = spawnSync("sh", ["-ec", script, "sh", ...args], {
    encoding: "utf8",
    input,
    maxBuffer: 256 * 1024 * 1024,
  });
  if (ended.status !== 0) throw new Error(`${script}: ${ended.stderr}`);
  return ended;
}
