import { mkdirSync, mkdtempSync, readFileSync, realpathSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Drydock, openDrydock, type Plan } from "drydock-sandbox";
import { removeFolder } from "../support/remove-folder.ts";

/** A plan over two folders, in which a framework is to work. */
export class Site implements AsyncDisposable {
  readonly #folder: string;
  readonly #drydock: Drydock;
  readonly plan: Plan;

  private constructor(folder: string, drydock: Drydock, plan: Plan) {
    this.#folder = folder;
    this.#drydock = drydock;
    this.plan = plan;
  }

  static async open(): Promise<Site> {
    const folder = realpathSync(mkdtempSync(join(tmpdir(), "drydock-adapters-")));
    const at = (path: string) => join(folder, path);
    mkdirSync(at("website/pages"), { recursive: true });
    mkdirSync(at("settings"));
    writeFileSync(at("website/index.html"), "<h1>Old</h1>\n");
    writeFileSync(at("website/pages/about.txt"), "one\ntwo\nthree\nfour\n");
    writeFileSync(at("website/logo.png"), Buffer.from([0x89, 0x50, 0x4e, 0x47, 0, 0xff]));
    symlinkSync("pages", at("website/folder-link"));
    symlinkSync("pages/about.txt", at("website/file-link"));
    symlinkSync("/etc/passwd", at("website/out"));
    writeFileSync(at("settings/port"), "80\n");
    const drydock = await openDrydock({ stateDir: at("state") });
    const plan = await drydock.plans.create({
      resources: [{ location: at("website") }, { location: at("settings") }],
    });
    return new Site(folder, drydock, plan);
  }

  at(path: string): string {
    return join(this.#folder, path);
  }

  /** The content of an original. */
  original(path: string): string {
    return readFileSync(this.at(path), "utf8");
  }

  /** What would land: the paths, each with what happens to it. */
  async changes(): Promise<string[]> {
    const { changes } = await this.plan.diff();
    return changes.map(({ operation, resource, path }) => `${operation} ${resource}/${path}`);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#drydock.close();
    removeFolder(this.#folder);
  }
}
