import assert from "node:assert/strict";
import { afterEach, beforeEach, describe, it } from "node:test";
import type { SandboxRecord } from "../../src/core/sandbox.ts";
import type { Store, StoreChange } from "../../src/store/store.ts";
import type { StoreFixture } from "./store-fixture.ts";

/** Names that a column of text would change, and what it would make of them. */
const FOLDERS = ["/state", "/st\udcffate", "/st\ufffdate", '/st"ate', "/st\nate", "/stäte"];

/** What every store finds outside of a folder. */
export function describeSandboxesOutside(fixture: StoreFixture): void {
  describe(`sandboxesOutside of the store in ${fixture.name}`, () => {
    let store: Store;

    beforeEach(async () => {
      store = await fixture.openEmpty();
    });

    afterEach(() => store.close());

    it("finds the live sandboxes with a workspace elsewhere, whatever bytes are in the folder's name", async () => {
      for (const name of FOLDERS) {
        const inside = [`${name}/sandboxes/x`, `${name}/a/b`, `${name}/\udcff`];
        const outside = [
          name,
          `${name}-2/x`,
          `${name}0/x`,
          "/a",
          "/zz/x",
          ...FOLDERS.filter((other) => other !== name),
        ];
        await put([...inside, ...outside].map((workspace) => sandbox({ workspace })));
        const found = await store.sandboxesOutside(name);
        assert.deepEqual(
          found.map(({ ref }) => ref.metadata["workspace"]).toSorted(),
          outside.toSorted(),
          name,
        );
        await put(found.map((record) => ({ ...record, state: "CLEANED_UP" })));
        assert.deepEqual(await store.sandboxesOutside(name), []);
        await put((await store.liveSandboxes()).map((record) => ({ ...record, state: "CLEANED_UP" })));
      }
    });

    it("leaves out sandboxes without a workspace", async () => {
      await put([sandbox({}), sandbox({ workspace: "/elsewhere" })]);
      assert.equal((await store.sandboxesOutside("/state")).length, 1);
    });

    it("looks at none of the sandboxes inside", async () => {
      await put([sandbox({ workspace: "/state/sandboxes/x" })]);
      await fixture.sql("UPDATE sandboxes SET record = replace(record, 'ACTIVE', 'no such state')");
      assert.deepEqual(await store.sandboxesOutside("/state"), []);
      await assert.rejects(store.liveSandboxes(), { code: "STATE", message: /damaged/ });
    });
    async function put(records: readonly SandboxRecord[]): Promise<void> {
      await store.write(
        records.map((record): StoreChange => ({ put: "sandbox", record })),
        "ordered",
      );
    }
  });
}

let made = 0;

function sandbox(metadata: SandboxRecord["ref"]["metadata"]): SandboxRecord {
  made += 1;
  const ref = {
    sandboxId: `S${made}`,
    planId: "P",
    resourceId: "resource",
    strategyName: "overlay",
    metadata,
  };
  return { ref, state: "ACTIVE", createdAt: "2026-01-01T00:00:00.000Z" };
}
