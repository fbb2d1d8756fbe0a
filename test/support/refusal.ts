import assert from "node:assert/strict";
import { AtomicCommitError, DrydockError } from "../../src/index.ts";

/**
 * For `assert.rejects`: an apply or an undo was refused before anything was prepared, for the reason with
 * this code.
 */
export function refusedBy(code: string): (thrown: unknown) => true {
  return (thrown) => {
    assert.ok(thrown instanceof AtomicCommitError && thrown.cause instanceof DrydockError, String(thrown));
    assert.equal(thrown.cause.code, code);
    assert.deepEqual([thrown.undone, thrown.notUndone], [[], []]);
    return true;
  };
}
