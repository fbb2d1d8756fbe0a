import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fastFolder } from "./fast-folder.ts";
import { podmanCommand } from "./podman.ts";
import { removeFolder } from "./remove-folder.ts";

const PATIENCE_MS = 60_000;

/** A podman of a test's own, with images and containers of its own, that listens on a socket. */
export class PodmanEngine {
  readonly #folder = mkdtempSync(join(fastFolder(), "drydock-podman-"));
  #service: ChildProcess | undefined;

  static async start(): Promise<PodmanEngine> {
    const engine = new PodmanEngine();
    try {
      await engine.#start();
      return engine;
    } catch (thrown) {
      await engine.remove();
      throw thrown;
    }
  }

  get socket(): string {
    return join(this.#folder, "engine.sock");
  }

  async remove(): Promise<void> {
    const service = this.#service;
    if (service !== undefined && service.exitCode === null && service.signalCode === null) {
      const ended = once(service, "exit");
      service.kill("SIGKILL");
      await ended;
    }
    removeFolder(this.#folder);
  }

  /** Makes an image with these files, whose command is a program made of this source in C. */
  buildImage(name: string, files: { readonly [path: string]: string }, source: string): void {
    const root = mkdtempSync(join(this.#folder, "root-"));
    for (const [path, content] of Object.entries(files)) {
      spawnSync("mkdir", ["-p", join(root, path, "..")]);
      writeFileSync(join(root, path), content);
    }
    this.#run("cc", ["-static", "-x", "c", "-o", join(root, "change"), "-"], source);
    this.#run("sh", ["-c", 'tar -C "$1" -cf "$1.tar" .', "sh", root]);
    const importing = ["--url", `unix://${this.socket}`, "import", "--change", 'CMD ["/change"]'];
    this.#run("podman", ["--remote", ...importing, "--change", "ENV KEPT=yes", `${root}.tar`, name]);
  }

  /** Runs podman against the engine, and returns what it says. */
  podman(...args: readonly string[]): string {
    return this.#run("podman", ["--remote", "--url", `unix://${this.socket}`, ...args]);
  }

  async #start(): Promise<void> {
    const settings = join(this.#folder, "containers.conf");
    writeFileSync(settings, '[containers]\ncgroups = "disabled"\nnetns = "none"\ndefault_ulimits = []\n');
    const stores = [`--root=${join(this.#folder, "store")}`, `--runroot=${join(this.#folder, "run")}`];
    const args = [
      ...["--cgroup-manager=cgroupfs", "--storage-driver=overlay", ...stores],
      ...["system", "service", "--time=0", `unix://${this.socket}`],
    ];
    const service = spawn(...podmanCommand(args), {
      // With a host in the environment, podman would be a client of that one. It leaves temporary files.
      env: { ...process.env, CONTAINERS_CONF: settings, CONTAINER_HOST: undefined, TMPDIR: this.#folder },
      stdio: "ignore",
    });
    this.#service = service;
    const until = Date.now() + PATIENCE_MS;
    while (!existsSync(this.socket)) {
      if (service.exitCode !== null || Date.now() > until) throw new Error("podman does not listen");
      await sleep(50);
    }
  }

  #run(program: string, args: readonly string[], input?: string): string {
    const { status, stdout, stderr } = spawnSync(program, args, {
      encoding: "utf8",
      timeout: PATIENCE_MS,
      ...(input !== undefined && { input }),
    });
    if (status !== 0) throw new Error(`${program} ${args.join(" ")} ended with ${status}: ${stderr}`);
    return stdout;
  }
}
