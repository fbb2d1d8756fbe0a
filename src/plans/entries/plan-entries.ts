import type { Change } from "../../core/change.ts";
import { UsageError } from "../../core/errors/errors.ts";
import { displayPath } from "../../core/paths/byte-path.ts";
import type { PlanRecord } from "../../core/plan.ts";
import type { Entry } from "../../core/resource/entry.ts";
import type { PlanSession } from "../../sandboxes/access/plan-session.ts";
import { resourceOf, type UsableSandbox } from "../../sandboxes/plan-sandboxes.ts";
import { assertMay, assertWritable } from "../resources/restrictions.ts";
import { listPage } from "./entry-list.ts";
import type { EntryAddress, EntryList, ListOptions, ReadRange } from "./entry-views.ts";
import { spooled, spooledBytes } from "./spool.ts";

/** How much of a file is in memory at once. */
const PIECE = 1024 * 1024;

/** Work on single entries of sandboxes, as programs see them, also where a sandbox has no path. */
export class PlanEntries {
  readonly #session: PlanSession;

  constructor(session: PlanSession) {
    this.#session = session;
  }

  /** The entry at a path; undefined if there is none. Follows no link. */
  async stat(place: EntryAddress): Promise<Entry | undefined> {
    const { record, strategy, pathOf } = await this.#toRead(place);
    const found = await strategy.stat(record.ref, pathOf(place.path));
    return found === undefined ? undefined : { ...found, path: place.path };
  }

  /** A page of what is in a folder. */
  async list(place: EntryAddress, options: ListOptions = {}): Promise<EntryList> {
    return await listPage(await this.#toRead(place), place.path, options);
  }

  /** The content of a file, or of a part of it, piece by piece. */
  async *read(place: EntryAddress, { offset = 0, length }: ReadRange = {}): AsyncGenerator<Uint8Array> {
    const { record, strategy, pathOf } = await this.#toRead(place);
    const { ref } = record;
    const path = pathOf(place.path);
    const end = length === undefined ? Number.POSITIVE_INFINITY : offset + length;
    for (let at = offset; at < end || at === offset; ) {
      const bytes = await unlessWithoutEntries(
        () => strategy.readPart(ref, path, at, Math.min(PIECE, end - at)),
        async () => (await strategy.read(ref, path)).subarray(at, end),
      );
      if (bytes.length === 0) return;
      yield bytes;
      at += bytes.length;
    }
  }

  /** Writes one file from a stream of any size, all of it or nothing. */
  async write(place: EntryAddress, content: AsyncIterable<Uint8Array>): Promise<Change> {
    const { stateDir, operations } = this.#session;
    return await spooled(stateDir, content, operations, async (spool) =>
      this.#change(place, "write", async ({ record, strategy, pathOf, pathFrom }) => {
        const path = pathOf(place.path);
        const change = await unlessWithoutEntries(
          () => strategy.writeFrom(record.ref, path, spool.path),
          () => strategy.write(record.ref, path, spooledBytes(spool)),
        );
        return { ...change, path: pathFrom(change.path) };
      }),
    );
  }

  /** Makes a folder and those above it. */
  async makeFolder(place: EntryAddress): Promise<void> {
    await this.#change(place, "make folder", async ({ record, strategy, pathOf }) =>
      strategy.makeFolder(record.ref, pathOf(place.path)),
    );
  }

  /** Removes an entry; a folder that is not empty only with `recursive`. */
  async remove(
    place: EntryAddress,
    { recursive = false }: { readonly recursive?: boolean } = {},
  ): Promise<void> {
    await this.#change(place, "remove", async ({ record, strategy, pathOf }) => {
      const path = pathOf(place.path);
      const isFull =
        !recursive &&
        (await strategy.stat(record.ref, path))?.kind === "directory" &&
        (await strategy.list(record.ref, path, { limit: 1 })).length > 0;
      if (isFull)
        throw new UsageError(`The folder ${displayPath(place.path)} is not empty.`, { code: "NOT_EMPTY" });
      await strategy.remove(record.ref, path);
    });
  }

  /** Gives an entry another path in the same resource, where nothing may be yet. */
  async rename(place: EntryAddress, to: string): Promise<void> {
    await this.#change(
      place,
      "rename",
      async ({ record, strategy, pathOf }) => strategy.rename(record.ref, pathOf(place.path), pathOf(to)),
      { to },
    );
  }

  async #toRead({ plan, resource }: EntryAddress): Promise<UsableSandbox> {
    const { plans, sandboxes } = this.#session;
    const found = await plans.find(plan);
    assertMay(resourceOf(found, resource), "read");
    return await sandboxes.usable(found, resource, "look");
  }

  /** Changes a sandbox, and notes that in the history. */
  async #change<T>(
    { plan, resource, path }: EntryAddress,
    operation: string,
    action: (sandbox: UsableSandbox) => Promise<T>,
    more: { readonly to?: string } = {},
  ): Promise<T> {
    const { plans, sandboxes } = this.#session;
    return await plans.claimed(plan, async (found) => {
      assertWritable(found, resource);
      const result = await action(await sandboxes.usable(found, resource, "change"));
      await noteChange(this.#session, found, { operation, resource, path, ...more });
      return result;
    });
  }
}

/** Some strategies only read and write files as a whole. */
async function unlessWithoutEntries<T>(call: () => Promise<T>, otherwise: () => Promise<T>): Promise<T> {
  try {
    return await call();
  } catch (thrown) {
    if (thrown instanceof UsageError && thrown.code === "NO_ENTRIES") return await otherwise();
    throw thrown;
  }
}

/** Notes in the history that a sandbox was changed. */
export async function noteChange(
  { history }: PlanSession,
  plan: PlanRecord,
  {
    resource,
    ...facts
  }: { readonly operation: string; readonly resource: string | undefined; readonly path?: string },
): Promise<void> {
  const { name } = resourceOf(plan, resource).resource;
  await history.note(plan.id, "changed", { ...facts, resource: name });
}
