import { BusyError, messageOf } from "../../core/errors/errors.ts";
import { treeSize } from "../../engine/tree/tree-size.ts";
import type { Uses } from "../../sandboxes/remains/uses.ts";
import { Folder } from "../../system/calls/folder.ts";
import { isThere } from "../../system/data/existence.ts";
import { freeReserve } from "../../system/state/reserve.ts";
import type { CleanupItem, CleanupOptions, CleanupStatus, PurgeResult } from "../plan-views.ts";
import { findLeftovers, type Leftover, type LeftoverParts } from "./leftovers.ts";

export interface CleanupServiceParts extends LeftoverParts {
  readonly uses: Uses;
}

/**
 * Finds and removes the leftovers of everything that Drydock makes. It never touches what Drydock did not
 * make or what an open plan or a running command needs; and, without `force`, nothing that may hold the only
 * copy of a user's work.
 */
export class CleanupService {
  readonly #parts: CleanupServiceParts;

  constructor(parts: CleanupServiceParts) {
    this.#parts = parts;
  }

  /** All leftovers, oldest first. Changes nothing. */
  async scan(options: Pick<CleanupOptions, "olderThanMs"> = {}): Promise<readonly CleanupItem[]> {
    return (await this.#find(options)).flatMap((leftover) => this.#itemsOf(leftover));
  }

  /** Removes leftovers. A failure does not stop the rest. */
  async purge(options: CleanupOptions = {}): Promise<PurgeResult> {
    const removed: CleanupItem[] = [];
    const kept: (CleanupItem & { why: string })[] = [];
    const failed: (CleanupItem & { message: string })[] = [];
    if (options.dryRun !== true) freeReserve(this.#parts.session.stateDir);
    for (const leftover of await this.#find(options)) {
      const items = this.#itemsOf(leftover);
      const why = leftover.holdsWork && options.force !== true ? HOLDS_WORK : undefined;
      try {
        const inUse = why ?? (await this.#remove(leftover, options.dryRun === true));
        if (inUse === undefined) removed.push(...items);
        else kept.push(...items.map((item) => ({ ...item, why: inUse })));
      } catch (thrown) {
        failed.push(...items.map((item) => ({ ...item, message: messageOf(thrown) })));
      }
    }
    return { dryRun: options.dryRun === true, removed, kept, failed };
  }

  /** The number and size of sandboxes, undo records and leftovers. */
  async status(): Promise<CleanupStatus> {
    const { store, stateDir, now } = this.#parts.session;
    const leftovers = (await this.#find({})).flatMap((leftover) => this.#itemsOf(leftover));
    const live = await store.liveSandboxes();
    const abandoned = new Set(leftovers.map(({ location }) => location));
    const workspaces = live
      .map(({ ref }) => ref.metadata["workspace"])
      .filter((path): path is string => typeof path === "string" && !abandoned.has(path));
    const undo = await store.undoRecords(now().toISOString());
    return {
      stateDir,
      sandboxes: {
        count: live.length,
        bytes: workspaces.reduce((sum, path) => sum + (sizeOf(path) ?? 0), 0),
      },
      undoRecords: { count: undo.length },
      leftovers: {
        count: leftovers.length,
        bytes: leftovers.reduce((sum, { bytes }) => sum + (bytes ?? 0), 0),
      },
    };
  }

  async #find({ olderThanMs = 0 }: CleanupOptions): Promise<readonly Leftover[]> {
    const all = await findLeftovers(this.#parts);
    return all
      .filter(({ since }) => this.#ageMs(since) >= olderThanMs)
      .toSorted((a, b) => this.#ageMs(b.since) - this.#ageMs(a.since));
  }

  /** Items without a timestamp count as infinitely old. */
  #ageMs(since: string | undefined): number {
    return since === undefined
      ? Number.POSITIVE_INFINITY
      : this.#parts.session.now().getTime() - Date.parse(since);
  }

  /** Returns why it stays; undefined if it is removed. */
  async #remove(leftover: Leftover, dryRun: boolean): Promise<string | undefined> {
    const { session, uses } = this.#parts;
    const done = await session.plans.ifFree(leftover.planId, async () => {
      const [use] = uses.living(leftover.planId);
      if (use !== undefined) return `'${use.command}' is running in it (pid ${use.owner.pid})`;
      try {
        if (!dryRun) await leftover.remove();
        return null;
      } catch (thrown) {
        if (thrown instanceof BusyError) return messageOf(thrown);
        throw thrown;
      }
    });
    return done === undefined ? "another process works on its plan" : (done ?? undefined);
  }

  #itemsOf({ places, planId, since, reason, holdsWork }: Leftover): CleanupItem[] {
    const age = this.#ageMs(since);
    return places.map(({ kind, location }) => {
      const bytes = kind === "mount" ? undefined : sizeOf(location);
      return {
        kind,
        planId,
        location,
        ageSeconds: Number.isFinite(age) ? Math.max(0, Math.floor(age / 1000)) : null,
        ...(bytes !== undefined && { bytes }),
        reason,
        ...(holdsWork && { holdsWork: true }),
      };
    });
  }
}

const HOLDS_WORK = "it may hold the only copy of a user's work";

function sizeOf(location: string): number | undefined {
  if (!location.startsWith("/") || !isThere(location)) return undefined;
  using root = Folder.open("/");
  return treeSize(root, location.slice(1));
}
