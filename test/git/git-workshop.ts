import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, realpathSync, rmSync } from "node:fs";
import { join } from "node:path";
import { AtomicCommitError, type CreatePlanOptions, type PlanView } from "../../src/index.ts";
import { openServices } from "../../src/runtime.ts";
import type { Services, ServicesOptions } from "../../src/services.ts";
import { mountsBelow } from "../../src/system/mount/mount-table.ts";
import { fastFolder } from "../support/fast-folder.ts";
import { TestRepository } from "../support/test-repository.ts";

/** The checkout, in a worktree of its own. */
export const WORKTREE = { location: "app", strategy: "git_worktree" };
/** The checkout, at its own path. */
export const IN_PLACE = { location: "app", strategy: "overlay" };

/**
 * Places for one test: a state directory, and a checkout with a few files, in memory if possible. All of it
 * goes at the end.
 */
export class GitWorkshop {
  readonly base = realpathSync(mkdtempSync(join(fastFolder(), "drydock-git-")));
  readonly stateDir = join(this.base, "state");
  readonly repository: TestRepository;
  readonly #open: Services[] = [];

  constructor() {
    mkdirSync(join(this.base, "app"));
    this.repository = new TestRepository(join(this.base, "app"));
    this.repository.git("init", "-q", "-b", "main");
    this.repository.write("readme.txt", "one\ntwo\nthree\nfour\nfive\nsix\nseven\n");
    this.repository.write("src/app.ts", "export const app = 1;\n");
    this.repository.write("src/old.ts", "old\n");
    this.repository.write(".gitignore", "*.log\n/build/\n");
    this.repository.commitAll("begin");
  }

  /** `environment` is the user's, without what the tests' own user has configured. */
  async open(options: ServicesOptions = {}): Promise<Services> {
    const environment = { PATH: process.env["PATH"], HOME: join(this.base, "home"), ...options.environment };
    const drydock = await openServices({ stateDir: this.stateDir, cwd: this.base, ...options, environment });
    this.#open.push(drydock);
    return drydock;
  }

  /** Opens Drydock and makes a plan over the checkout, in a worktree unless the options say otherwise. */
  async plan(options: Partial<CreatePlanOptions> = {}, settings: ServicesOptions = {}): Promise<OpenPlan> {
    const drydock = await this.open(settings);
    const plan = await drydock.plans.create({ resources: [WORKTREE], ...options });
    return new OpenPlan(drydock, plan);
  }

  /** Refs of ours in the repository. */
  ownRefs(): string[] {
    return this.repository
      .git("for-each-ref", "--format=%(refname)", "refs/drydock")
      .split("\n")
      .filter(Boolean);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const drydock of this.#open) await drydock.close();
    // A plan that is still open has its sandbox mounted.
    for (const point of mountsBelow(this.base)) spawnSync("umount", ["--lazy", point]);
    rmSync(this.base, { recursive: true, force: true });
  }
}

/** A plan over one checkout, and what is done with it. */
export class OpenPlan {
  readonly drydock: Services;
  readonly id: string;
  readonly view: PlanView;

  constructor(drydock: Services, view: PlanView) {
    this.drydock = drydock;
    this.view = view;
    this.id = view.id;
  }

  /** The repository that programs find in the worktree. */
  async worktree(): Promise<TestRepository> {
    return new TestRepository(await this.drydock.plans.path(this.id));
  }

  async write(path: string, text: string): Promise<void> {
    await this.drydock.plans.write(this.id, "app", path, Buffer.from(text));
  }

  async apply(message?: string) {
    return await this.drydock.plans.apply(this.id, message === undefined ? {} : { message });
  }

  /** The conflicts with which it can't be applied, as "path: why". */
  async conflicts(): Promise<string[]> {
    return (await this.refusal()).conflicts.map(({ path, why }) => `${path}: ${why}`).sort();
  }

  /** The failure with which it can't be applied. */
  async refusal(): Promise<AtomicCommitError> {
    let failure: unknown;
    await assert.rejects(this.apply(), (thrown) => {
      failure = thrown;
      return true;
    });
    assert.ok(failure instanceof AtomicCommitError, String(failure));
    assert.deepEqual(failure.notUndone, []);
    return failure;
  }

  /** The changes as "operation kind path". */
  async changes(): Promise<string[]> {
    const { changes } = await this.drydock.plans.diff(this.id);
    return changes.map(({ operation, kind, path }) => `${operation} ${kind} ${path}`);
  }
}

/**
 * The files of a folder with their content, and the state of its repository, to see that nothing has changed.
 */
export function stateOf(repository: TestRepository): string {
  const script =
    "find . -path ./.git -prune -o -printf '%p %m %s %T@ %l\\n' | sort; git stash list; git status --porcelain";
  const files = execFileSync("sh", ["-c", script], { cwd: repository.path, encoding: "utf8" });
  const index = repository.git("ls-files", "--stage", "--debug");
  return `${repository.head()}\n${files}\n${index}`;
}
