import { execFileSync } from "node:child_process";
import { closeSync, fsyncSync, mkdirSync, openSync, rmSync, writeSync } from "node:fs";
import { join } from "node:path";
import type { RecoveryReport } from "../../src/index.ts";
import type { ChildCall } from "../rivals/drydock-child.ts";
import { DrydockProcess, type ProcessEnd, runProcess } from "../rivals/drydock-process.ts";
import { type ImageFileSystem, mountImage } from "../support/file-systems.ts";
import { mountsBelow, removeFolder, unmount } from "../support/remove-folder.ts";
import { removeWithSubvolumes } from "../support/subvolumes.ts";

/** What the plans of these tests are over: two folders of these names. */
export const FOLDERS = ["a", "b"] as const;

/**
 * What is between Drydock and the disk. A script of sh mounts it at `seen` in a folder of the disk, where the
 * originals are made in `behind`.
 */
export interface Cover {
  readonly folders: readonly string[];
  readonly behind: string;
  readonly mount: string;
}

/** Like the root of a container: what is in `lower` is in the image. */
export const OVERLAY_ROOT: Cover = {
  folders: ["lower", "upper", "work"],
  behind: "lower",
  mount: 'mount -t overlay drydock-test -o "lowerdir=$1/lower,upperdir=$1/upper,workdir=$1/work" "$1/seen"',
};

/** Two names can't be exchanged there. */
export const WITHOUT_EXCHANGE: Cover = {
  folders: ["behind"],
  behind: "behind",
  mount: 'bindfs -o attr_timeout=0,entry_timeout=0 "$1/behind" "$1/seen"',
};

/** A place of its own on a disk. */
export interface Site {
  /** What the disk has of it. */
  readonly folder: string;
  /** Where Drydock finds everything. */
  readonly base: string;
  readonly stateDir: string;
}

/** Where the power is cut. */
export interface Moment {
  /** The call during which it is. */
  readonly call: ChildCall;
  /** The failpoint at which it is. */
  readonly at: string;
  /** Failpoints besides that one. */
  readonly more?: string;
  /**
   * With something of somebody else's the file system may write down what was renamed, and not yet what is in
   * it.
   */
  readonly somebodyFlushes?: boolean;
}

/**
 * A power cut, as the disk sees it: the image of the file system on which everything lives, state directory
 * and originals, is itself a file on a file system that can copy it in an instant (reflink). The copy, taken
 * while a call stands still, holds what had reached the disk and nothing else. It is mounted over the same
 * place, in a mount namespace of its own, and Drydock starts there as after a reboot.
 */
export class Disk {
  readonly #host = mountImage("xfs", { megabytes: 700 });
  readonly #image = join(this.#host.path, "disk.img");
  readonly #kind: ImageFileSystem;
  readonly #path = join(this.#host.path, "mounted");
  readonly #cover: Cover | undefined;
  #sites = 0;

  constructor(kind: ImageFileSystem, cover?: Cover) {
    this.#kind = kind;
    this.#cover = cover;
    const template = mountImage(kind);
    execFileSync("umount", [template.path]);
    execFileSync("cp", ["--sparse=always", template.image, this.#image]);
    template.remove();
    mkdirSync(this.#path);
    execFileSync("mount", ["-t", kind, "-o", "loop", this.#image, this.#path]);
  }

  /** `make` puts something there. */
  newSite(make: (base: string) => void = () => undefined): Site {
    this.#sites += 1;
    const folder = join(this.#path, String(this.#sites));
    mkdirSync(folder);
    const cover = this.#cover;
    if (cover === undefined) {
      make(folder);
      return { folder, base: folder, stateDir: join(folder, "state") };
    }
    for (const name of ["seen", ...cover.folders]) mkdirSync(join(folder, name));
    make(join(folder, cover.behind));
    execFileSync("sh", ["-ec", cover.mount, "sh", folder]);
    return { folder, base: join(folder, "seen"), stateDir: join(folder, "seen/state") };
  }

  /** What was there before the call is on disk. */
  async cutPower(site: Site, { call, at, more = "", somebodyFlushes }: Moment): Promise<RestartedDisk> {
    execFileSync("sync", ["-f", this.#path]);
    const { folder, base, stateDir } = site;
    const failpoint = [`${at}=stop`, more].filter((part) => part !== "").join();
    await using child = new DrydockProcess({ stateDir, calls: [call] }, { failpoint });
    await child.mustStop();
    if (somebodyFlushes === true) flushFile(join(base, "another-file"));
    const snapshot = `${this.#image}.snapshot`;
    execFileSync("cp", ["--reflink=always", this.#image, snapshot]);
    child.signal("SIGKILL");
    await child.ends();
    // No mount survives a power cut.
    for (const point of mountsBelow(folder)) unmount(point);
    const found = join(this.#host.path, "found");
    const cover = this.#cover?.mount ?? "true";
    return new RestartedDisk({ ...site, snapshot, kind: this.#kind, path: this.#path, found, cover });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    execFileSync("umount", ["--lazy", this.#path]);
    this.#host.remove();
  }
}

interface Restarted extends Site {
  readonly snapshot: string;
  readonly kind: ImageFileSystem;
  /** Where the disk was, and is again. */
  readonly path: string;
  readonly found: string;
  /** Mounts what is between Drydock and the disk. */
  readonly cover: string;
}

/** What calls have shown. */
export interface Shown {
  readonly end?: ProcessEnd;
  readonly problems: readonly string[];
}

/** A disk after the power cut. It ends with the place where the power was cut. */
export class RestartedDisk {
  readonly #parts: Restarted;

  constructor(parts: Restarted) {
    this.#parts = parts;
  }

  /**
   * Mounts the disk where nobody else sees it, and makes these calls there. What is in the originals then is
   * shown by `original`.
   */
  async run(calls: readonly ChildCall[]): Promise<Shown> {
    const { snapshot, kind, path, found, folder, base, stateDir, cover } = this.#parts;
    rmSync(found, { recursive: true, force: true });
    mkdirSync(found);
    const options = kind === "xfs" ? "loop,nouuid" : "loop";
    const mounts = `mount -t ${kind} -o ${options} "$1" "$2" && sh -ec "$COVER" sh "$FOLDER"`;
    const script = `${mounts} && shift 2 && "$@"; code=$?; cp -a "$BASE/a" "$BASE/b" "$FOUND"; exit $code`;
    const variables = [`BASE=${base}`, `FOUND=${found}`, `FOLDER=${folder}`, `COVER=${cover}`];
    const wrapper = ["env", ...variables, "unshare", "-m", "sh", "-c", script, "sh", snapshot, path];
    const end = await runProcess({ stateDir, calls }, { wrapper });
    if (end.code !== 0 || end.answers.some((answer) => "error" in answer))
      return { problems: [`recovery failed: ${end.stderr} ${JSON.stringify(end.answers)}`] };
    const report = (end.answers[0] as { result: RecoveryReport }).result;
    return { end, problems: report.pending.length > 0 ? [`pending: ${JSON.stringify(report.pending)}`] : [] };
  }

  /** A copy of an original, as the last calls left it. */
  original(name: (typeof FOLDERS)[number]): string {
    return join(this.#parts.found, name);
  }

  [Symbol.dispose](): void {
    const { snapshot, kind, folder } = this.#parts;
    rmSync(snapshot, { force: true });
    if (kind === "btrfs") removeWithSubvolumes(folder);
    else removeFolder(folder);
  }
}

function flushFile(path: string): void {
  const fd = openSync(path, "w");
  try {
    writeSync(fd, "somebody else's\n");
    fsyncSync(fd);
  } finally {
    closeSync(fd);
  }
}
