import { mkdirSync, mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { StrategyContext } from "../../src/core/strategy.ts";
import { openServices } from "../../src/runtime.ts";
import type { Services } from "../../src/services.ts";
import type { OverlayWay } from "../../src/strategies/overlay/layout.ts";
import { fastFolder } from "../support/fast-folder.ts";
import { OneWayOverlay } from "../support/one-way-overlay.ts";
import { removeFolder } from "../support/remove-folder.ts";

/** An original, and plans on it that work and land beside each other and beside other writers. */
export class MergeScene implements AsyncDisposable {
  readonly original: string;
  readonly drydock: Services;
  readonly #folder: string;
  readonly #strategy: string;

  private constructor(folder: string, drydock: Services, strategy: string) {
    this.#folder = folder;
    this.original = join(folder, "original");
    this.drydock = drydock;
    this.#strategy = strategy;
  }

  static async open(
    strategy: string,
    files: { readonly [path: string]: string | Uint8Array },
    { place = fastFolder(), ways, config, make = mkdirSync, fill }: SceneOptions = {},
  ): Promise<MergeScene> {
    const folder = mkdtempSync(join(place, "drydock-merge-"));
    const original = join(folder, "original");
    make(original);
    for (const [path, content] of Object.entries(files)) {
      mkdirSync(join(original, path, ".."), { recursive: true });
      writeFileSync(join(original, path), content);
    }
    fill?.(original);
    const file = join(folder, "drydock.yaml");
    if (config !== undefined) writeFileSync(file, config);
    const drydock = await openServices({
      stateDir: join(folder, "state"),
      cwd: folder,
      ...(config !== undefined && { config: file }),
      environment: { PATH: process.env["PATH"] },
      strategies: ways === undefined ? [] : [(context: StrategyContext) => new OneWayOverlay(context, ways)],
    });
    return new MergeScene(folder, drydock, strategy);
  }

  /** Makes a plan on the original. */
  async plan(name = "p"): Promise<string> {
    const resources = [{ location: this.original, name: "work", strategy: this.#strategy }];
    await this.drydock.plans.create({ name, resources });
    return name;
  }

  async write(plan: string, path: string, content: string | Uint8Array): Promise<void> {
    await this.drydock.plans.write(plan, "work", path, Buffer.from(content));
  }

  async read(plan: string, path: string): Promise<string> {
    return Buffer.from(await this.drydock.plans.read(plan, "work", path)).toString();
  }

  /** What is in the original. */
  there(path: string): string {
    return readFileSync(join(this.original, path), "utf8");
  }

  /** Another writer changes the original in place. */
  other(path: string, content: string | Uint8Array): void {
    mkdirSync(join(this.original, path, ".."), { recursive: true });
    writeFileSync(join(this.original, path), content);
  }

  async changes(plan: string): Promise<string[]> {
    const { changes } = await this.drydock.plans.diff(plan);
    return changes.map(({ operation, path }) => `${operation} ${path}`);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const { id } of await this.drydock.plans.list()) await this.drydock.plans.cancel(id);
    await this.drydock.close();
    removeFolder(this.#folder);
  }
}

export interface SceneOptions {
  /** The folder to work in. Default: where it is fast. */
  readonly place?: string;
  readonly ways?: readonly OverlayWay[];
  readonly config?: string;
  /** Makes the folder of the original. */
  readonly make?: (path: string) => void;
  /** Adds to the original what else it has. */
  readonly fill?: (path: string) => void;
}
