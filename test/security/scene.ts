import { mkdirSync, mkdtempSync, realpathSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { PlanView } from "../../src/index.ts";
import { openServices } from "../../src/runtime.ts";
import type { Services, ServicesOptions } from "../../src/services.ts";
import { removeFolder } from "../support/remove-folder.ts";

/**
 * Places for one test: `original` with a few files, `outside` with a secret, and a state directory. All of it
 * goes at the end.
 */
export class Scene {
  readonly base: string;
  readonly #open: Services[] = [];

  constructor(base: string = mkdtempSync(join(tmpdir(), "drydock-security-"))) {
    mkdirSync(base, { recursive: true });
    this.base = realpathSync(base);
    for (const folder of ["original/folder", "outside"]) mkdirSync(this.at(folder), { recursive: true });
    writeFileSync(this.at("original/file"), "file\n");
    writeFileSync(this.at("original/folder/inner"), "inner\n");
    for (const name of ["secret", "inner"]) writeFileSync(this.at(`outside/${name}`), "secret\n");
  }

  get stateDir(): string {
    return this.at("state");
  }

  at(path: string): string {
    return join(this.base, path);
  }

  async open(options: ServicesOptions = {}): Promise<Services> {
    const drydock = await openServices({
      stateDir: this.stateDir,
      cwd: this.base,
      environment: {},
      ...options,
    });
    this.#open.push(drydock);
    return drydock;
  }

  /** A plan over the original, and where its sandbox is. */
  async plan(options: ServicesOptions = {}): Promise<{ drydock: Services; plan: PlanView; sandbox: string }> {
    const drydock = await this.open(options);
    const plan = await drydock.plans.create({
      resources: [{ location: this.at("original"), strategy: "filesystem_copy" }],
    });
    return { drydock, plan, sandbox: await drydock.plans.path(plan.id) };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const drydock of this.#open) await drydock.close();
    removeFolder(this.base);
  }
}
