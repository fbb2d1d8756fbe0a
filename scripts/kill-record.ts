import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** Where nobody dies, each with the reason. */
const NEVER: { readonly [name: string]: string } = {
  "holder.listen":
    "of a process that gets nothing of anybody's environment; test/databases kills it from outside, at every step of an apply",
  "holder.listening": "as holder.listen",
  "holder.ended": "as holder.listen",
  "init.write":
    "writes a config file where none is; no plan is involved, and new-file.test.ts has each step of it fail",
};

/**
 * Where processes that die at a failpoint leave its name while tests run: that the crash suites kill at every
 * failpoint there is, is seen and not assumed. Victims may be of any user.
 */
export class KillRecord {
  readonly #folder = mkdtempSync(join(tmpdir(), "drydock-kills-"));
  readonly file = join(this.#folder, "kills");

  constructor() {
    writeFileSync(this.file, "");
    chmodSync(this.#folder, 0o755);
    chmodSync(this.file, 0o666);
  }

  /** The failpoints at which nothing died. */
  async missing(): Promise<readonly string[]> {
    const { FAILPOINT_NAMES } = await import("../test/failpoint-names.ts");
    const killed = new Set(readFileSync(this.file, "utf8").split("\n"));
    return FAILPOINT_NAMES.filter((name) => !killed.has(name) && !(name in NEVER));
  }

  [Symbol.dispose](): void {
    rmSync(this.#folder, { recursive: true, force: true });
  }
}
