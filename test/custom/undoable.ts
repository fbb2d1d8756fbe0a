/**
 * One-phase with undo, as docs/writing-a-strategy.md says: what a commit replaced is kept, also by cleanup,
 * until discardUndo.
 */
export const UNDOABLE = `import { existsSync, readFileSync, rmSync } from "node:fs";
import { DocumentStrategy, fileOf, originalOf, replaceFile } from "./document.ts";
export class Undoable extends DocumentStrategy {
  capabilities = { commit: "one-phase", undo: true, resourceTypes: ["json-document"] };
  async commit(ref) {
    replaceFile(fileOf(ref, "before"), readFileSync(originalOf(ref), "utf8"));
    return await super.commit(ref);
  }
  async rollback(ref) {
    if (existsSync(fileOf(ref, "before"))) {
      replaceFile(originalOf(ref), readFileSync(fileOf(ref, "before"), "utf8"));
      if (existsSync(fileOf(ref, "base"))) replaceFile(fileOf(ref, "base"), readFileSync(fileOf(ref, "before"), "utf8"));
      rmSync(fileOf(ref, "before"));
    }
    await super.rollback(ref);
    if (!existsSync(fileOf(ref, "work"))) await super.cleanup(ref);
  }
  async cleanup(ref) {
    if (!existsSync(fileOf(ref, "before"))) return await super.cleanup(ref);
    for (const name of ["base", "work"]) rmSync(fileOf(ref, name), { force: true });
  }
  async discardUndo(ref) { await super.cleanup(ref); }
}
export class Failing extends Undoable {
  async commit(ref) { await super.commit(ref); throw new Error("the line is dead"); }
}
`;
