import assert from "node:assert/strict";
import {
  existsSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { SmallShell } from "./small-shell.ts";

/** Whatever the user who runs the tests has configured, git does the same. */
const ENVIRONMENT = {
  PATH: process.env["PATH"] ?? "",
  HOME: "/nonexistent",
  GIT_CONFIG_NOSYSTEM: "1",
  LC_ALL: "C",
  GIT_AUTHOR_NAME: "Ann",
  GIT_AUTHOR_EMAIL: "ann@example.com",
  GIT_COMMITTER_NAME: "Ann",
  GIT_COMMITTER_EMAIL: "ann@example.com",
  // No process of git's own that tidies up behind a commit.
  GIT_CONFIG_COUNT: "1",
  GIT_CONFIG_KEY_0: "maintenance.auto",
  GIT_CONFIG_VALUE_0: "false",
};

let shell: SmallShell | undefined;

/** A real repository with a checkout, in a folder of its own. */
export class TestRepository {
  readonly path: string;

  /** The one that is there, or will be. */
  constructor(path: string) {
    this.path = path;
  }

  /** Makes an empty one in a new folder of this place, with main as its branch. */
  static make(place = tmpdir()): TestRepository {
    const repository = new TestRepository(realpathSync(mkdtempSync(join(place, "drydock-checkout-"))));
    repository.git("init", "-q", "-b", "main");
    return repository;
  }

  /** Runs git in it, and returns what it says, without the end of the last line. */
  git(...args: readonly string[]): string {
    shell ??= new SmallShell(ENVIRONMENT);
    return shell.run(this.path, ["git", ...args]).replace(/\n$/, "");
  }

  write(path: string, content: string): void {
    mkdirSync(dirname(join(this.path, path)), { recursive: true });
    writeFileSync(join(this.path, path), content);
  }

  read(path: string): string {
    return readFileSync(join(this.path, path), "utf8");
  }

  has(path: string): boolean {
    return existsSync(join(this.path, path));
  }

  remove(path: string): void {
    rmSync(join(this.path, path), { recursive: true });
  }

  /** Commits everything that is there. */
  commitAll(message: string): string {
    this.git("add", "-A");
    this.git("commit", "-q", "--allow-empty", "-m", message);
    return this.head();
  }

  head(): string {
    return this.git("rev-parse", "HEAD");
  }

  /** What git says of files that are not as committed. */
  status(): string {
    return this.git("status", "--porcelain");
  }

  /** Lock files, and what a merge that was not finished leaves. */
  traces(): string[] {
    return globSync(["**/*.lock", "MERGE_*", "drydock-*", "FETCH_HEAD"], { cwd: join(this.path, ".git") });
  }

  /** Fails unless nothing of ours is left in it, and git finds nothing wrong. */
  assertSound(): void {
    assert.deepEqual(this.traces(), []);
    const said = this.git("fsck", "--strict", "--no-dangling");
    assert.equal(said, "");
  }
}
