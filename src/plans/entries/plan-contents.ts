import type { Change } from "../../core/change.ts";
import { UsageError } from "../../core/errors/errors.ts";
import { joinPath, ROOT_PATH } from "../../core/paths/byte-path.ts";
import { onlyReads, type StatementResult } from "../../core/values/query.ts";
import type { PlanSession } from "../../sandboxes/access/plan-session.ts";
import { resourceOf } from "../../sandboxes/plan-sandboxes.ts";
import { assertMay, assertWritable } from "../resources/restrictions.ts";
import { readInside } from "./inner-links.ts";
import { noteChange } from "./plan-entries.ts";

/** The content of sandboxes: whole files, and statements in databases. */
export class PlanContents {
  readonly #session: PlanSession;

  constructor(session: PlanSession) {
    this.#session = session;
  }

  /** Where the sandbox of a resource is. */
  async path(plan: string | undefined, resource?: string): Promise<string> {
    const { plans, sandboxes } = this.#session;
    const path = await plans.claimed(plan, async (found) => {
      const { record, strategy, pathOf } = await sandboxes.usable(found, resource, "change");
      const path = await strategy.path(record.ref);
      const inside = pathOf(ROOT_PATH);
      return path === undefined || inside === ROOT_PATH ? path : joinPath(path, inside);
    });
    if (path === undefined) throw new UsageError("This sandbox has no path.", { code: "NO_PATH" });
    return path;
  }

  /** The content of a file. A link on the way is followed where it leads to a path inside the resource. */
  async read(plan: string | undefined, resource: string | undefined, path: string): Promise<Uint8Array> {
    const { plans, sandboxes } = this.#session;
    const found = await plans.find(plan);
    const { record, strategy, pathOf } = await sandboxes.usable(found, resource, "look");
    assertMay(resourceOf(found, resource), "read");
    return await readInside(path, {
      read: (at) => strategy.read(record.ref, pathOf(at)),
      stat: (at) => strategy.stat(record.ref, pathOf(at)),
    });
  }

  async write(
    plan: string | undefined,
    resource: string | undefined,
    path: string,
    bytes: Uint8Array,
  ): Promise<Change> {
    const { plans, sandboxes } = this.#session;
    return await plans.claimed(plan, async (found) => {
      assertWritable(found, resource);
      const { record, strategy, pathOf, pathFrom } = await sandboxes.usable(found, resource, "change");
      const change = await strategy.write(record.ref, pathOf(path), bytes);
      await noteChange(this.#session, found, { operation: "write", resource, path });
      return { ...change, path: pathFrom(change.path) };
    });
  }

  /**
   * Runs statements in the sandbox of a database and returns their results; in a read-only plan only queries.
   */
  async sql(
    plan: string | undefined,
    resource: string | undefined,
    script: string,
  ): Promise<readonly StatementResult[]> {
    const { plans, sandboxes } = this.#session;
    return await plans.claimed(plan, async (found) => {
      const { readOnly } = found;
      const { record, strategy } = await sandboxes.usable(found, resource, readOnly ? "look" : "change");
      const results = await strategy.query(record.ref, script, { readOnly });
      if (!readOnly && !results.every(onlyReads))
        await noteChange(this.#session, found, { operation: "sql", resource });
      return results;
    });
  }
}
