import { spawnSync } from "node:child_process";
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import type { Ended } from "../end-to-end/workplace.ts";
import { podmanCommand } from "../support/podman.ts";

const PROJECT = resolve(import.meta.dirname, "../..");
const USER = 54321;

/**
 * A container of podman with its own root: a small tree, with the programs of this machine in it, read-only.
 * It has podman's own profile of system calls and its usual capabilities, unless options say else.
 */
export class Container implements Disposable {
  readonly #path = mkdtempSync(join(tmpdir(), "drydock-container-"));
  readonly #root = join(this.#path, "root");
  readonly #options: readonly string[];

  constructor(...options: readonly string[]) {
    this.#options = options;
    chmodSync(this.#path, 0o755);
    for (const folder of [
      "proc",
      "sys",
      "dev",
      "tmp",
      "run",
      "usr",
      "etc",
      "root",
      "work/project",
      "home/me",
    ])
      mkdirSync(join(this.#root, folder), { recursive: true });
    for (const folder of ["bin", "sbin", "lib", "lib64"])
      symlinkSync(`usr/${folder}`, join(this.#root, folder));
    for (const name of ["ld.so.cache", "alternatives"])
      if (existsSync(`/etc/${name}`))
        cpSync(`/etc/${name}`, join(this.#root, "etc", name), { recursive: true, verbatimSymlinks: true });
    writeFileSync(
      join(this.#root, "etc/passwd"),
      `root:x:0:0::/root:/bin/sh\nme:x:${USER}:${USER}::/home/me:/bin/sh\n`,
    );
    writeFileSync(join(this.#root, "work/project/a.txt"), "one\n");
    for (const path of ["work/project", "home/me"])
      spawnSync("chown", ["-R", `${this.#user}:${this.#user}`, join(this.#root, path)]);
    chmodSync(join(this.#root, "tmp"), 0o1777);
  }

  /** The path of the project on the machine. */
  get project(): string {
    return join(this.#root, "work/project");
  }

  get #user(): number {
    return this.#options.some((option) => option.startsWith("--user")) ? USER : 0;
  }

  /** Runs drydock in a new container over the same root. */
  drydock(...args: readonly string[]): Ended {
    return this.#run(this.#root, [join(PROJECT, "bin/drydock"), ...args]);
  }

  /**
   * Runs a script of sh, in which "$DRYDOCK" is the program, in a new container. Its root is an overlay over
   * this one, as that of an image is, and goes with it.
   */
  scriptOverImage(script: string): Ended {
    return this.#run(`${this.#root}:O`, ["sh", "-c", script]);
  }

  #run(root: string, program: readonly string[]): Ended {
    const engine = ["--cgroup-manager=cgroupfs", "--storage-driver=vfs"];
    const store = [`--root=${join(this.#path, "store")}`, `--runroot=${join(this.#path, "run")}`];
    const limits = ["--ulimit=nofile=1024:1024", "--ulimit=nproc=4096:4096"];
    const command = [
      ...[...engine, ...store, "run", "--rm", "--network=none", "--cgroups=disabled", ...limits],
      ...["--volume=/usr:/usr:ro", `--volume=${PROJECT}:${PROJECT}:ro`, "--workdir=/work/project"],
      ...[`--env=HOME=${this.#user === 0 ? "/root" : "/home/me"}`, `--env=DRYDOCK=${PROJECT}/bin/drydock`],
      ...[...this.#options, "--rootfs", root, ...program],
    ];
    const { status, stdout, stderr } = spawnSync(...podmanCommand(command), {
      encoding: "utf8",
      timeout: 120_000,
    });
    return { status, stdout, stderr };
  }

  [Symbol.dispose](): void {
    rmSync(this.#path, { recursive: true, force: true });
  }
}

/** The number of the ordinary user in it. */
export const AS_USER = `--user=${USER}:${USER}`;

/** A profile of system calls that refuses new namespaces and mounts, as Docker's does; and Landlock, too. */
export function profileIn(folder: string, ...more: readonly string[]): string {
  const names = [
    "unshare",
    "setns",
    "mount",
    "umount2",
    "pivot_root",
    "open_tree",
    "move_mount",
    "fsopen",
    ...more,
  ];
  const path = join(folder, "profile.json");
  const refused = { names, action: "SCMP_ACT_ERRNO", errnoRet: 1 };
  const profile = {
    defaultAction: "SCMP_ACT_ALLOW",
    architectures: ["SCMP_ARCH_X86_64"],
    syscalls: [refused],
  };
  writeFileSync(path, JSON.stringify(profile));
  return `--security-opt=seccomp=${path}`;
}
