import { BusyError, messageOf } from "../../core/errors/errors.ts";
import { workspaceOf } from "../../core/sandbox.ts";
import { treeSize } from "../../engine/tree/walk.ts";
import type { Uses } from "../../sandboxes/remains/uses.ts";
import { Folder } from "../../system/calls/folder.ts";
import { isThere } from "../../system/data/existence.ts";
import { withReserve } from "../../system/state/reserve.ts";
import type {
  CleanupItem,
  CleanupOptions,
  CleanupStatus,
  IdlePlan,
  PlanPlace,
  PurgeResult,
} from "../plan-views.ts";
import { findLeftovers, type Leftover, type LeftoverParts } from "./leftovers.ts";
import { placesOfPlan } from "./plan-places.ts";

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
    if (options.dryRun === true) return await this.#purge(options);
    return await withReserve(this.#parts.session.stateDir, () => this.#purge(options));
  }

  async #purge(options: CleanupOptions): Promise<PurgeResult> {
    const removed: CleanupItem[] = [];
    const kept: (CleanupItem & { why: string })[] = [];
    const failed: (CleanupItem & { message: string })[] = [];
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
    if (options.undoOlderThanMs !== undefined) await this.#freeUndo(options, { removed, kept, failed });
    return { dryRun: options.dryRun === true, removed, kept, failed };
  }

  /** Everything that a plan has in the world, with its size. */
  async places(key?: string): Promise<readonly PlanPlace[]> {
    const plan = await this.#parts.session.plans.find(key);
    return (await placesOfPlan(this.#parts, plan)).map((place) => {
      const bytes = place.kind === "mount" ? undefined : sizeOf(place.location);
      return { ...place, ...(bytes !== undefined && { bytes }) };
    });
  }

  /** Open plans to which nothing has happened for this long, the oldest use first; with what they take. */
  async idlePlans({
    olderThanMs = IDLE_MS,
  }: Pick<CleanupOptions, "olderThanMs"> = {}): Promise<readonly IdlePlan[]> {
    const { session, folders } = this.#parts;
    const { store } = session;
    const idle: IdlePlan[] = [];
    for (const { id, name, createdAt } of await store.listPlans("open")) {
      const last = (await store.history(id)).at(-1);
      const lastUsed = last?.at ?? createdAt;
      if (this.#ageMs(lastUsed) < olderThanMs || this.#parts.uses.living(id).length > 0) continue;
      const workspaces = (await store.sandboxesOf(id)).flatMap(({ ref }) => workspaceOf(ref) ?? []);
      const ofCommands = folders.placesOf(id).map(({ location }) => location);
      const bytes = [...workspaces, ...ofCommands].reduce((sum, at) => sum + (sizeOf(at) ?? 0), 0);
      idle.push({ planId: id, name, lastUsed, by: last?.actor ?? "", bytes });
    }
    return idle.toSorted((a, b) => (a.lastUsed < b.lastUsed ? -1 : 1));
  }

  /** Discards undo records before their time. */
  async #freeUndo(
    { undoOlderThanMs = 0, dryRun = false }: CleanupOptions,
    { removed, kept, failed }: { [K in "removed" | "kept" | "failed"]: PurgeResult[K][number][] },
  ): Promise<void> {
    const { undoRetention, session } = this.#parts;
    const before = new Date(session.now().getTime() - undoOlderThanMs + 1).toISOString();
    for (const { id, planId, finishedAt } of await session.store.undoRecords(before)) {
      const items = (await this.#undoPlaces(planId)).map((location) =>
        this.#undoItem(planId, location, finishedAt),
      );
      const why = dryRun ? [] : await undoRetention.discard(id);
      if (why === undefined)
        kept.push(...items.map((item) => ({ ...item, why: "another process works on its plan" })));
      else if (why[0] === undefined) removed.push(...items);
      else failed.push(...items.map((item) => ({ ...item, message: why[0]?.why ?? "" })));
    }
  }

  #undoItem(planId: string, location: string, since: string | undefined): CleanupItem {
    const age = this.#ageMs(since);
    const bytes = sizeOf(location);
    return {
      kind: "undo record",
      planId,
      location,
      ageSeconds: Number.isFinite(age) ? Math.max(0, Math.floor(age / 1000)) : null,
      ...(bytes !== undefined && { bytes }),
      reason: "its plan could still be undone",
    };
  }

  /** Where the undo records of a plan are: the places that stay of its sandboxes. */
  async #undoPlaces(planId: string): Promise<readonly string[]> {
    const { store } = this.#parts.session;
    const landed = (await store.sandboxesOf(planId)).filter(({ state }) => state === "CLEANED_UP");
    const ids = new Set(landed.map(({ ref }) => ref.sandboxId));
    return (await store.intents())
      .filter(({ sandboxId, kind, location }) => ids.has(sandboxId) && kind === "folder" && isThere(location))
      .map(({ location }) => location);
  }

  /** The number and size of sandboxes, undo records and leftovers. */
  async status(): Promise<CleanupStatus> {
    const { store, stateDir, now } = this.#parts.session;
    const leftovers = (await this.#find({})).flatMap((leftover) => this.#itemsOf(leftover));
    const live = await store.liveSandboxes();
    const abandoned = new Set(leftovers.map(({ location }) => location));
    const workspaces = live
      .flatMap(({ ref }) => workspaceOf(ref) ?? [])
      .filter((path) => !abandoned.has(path));
    const undo = await store.undoRecords(now().toISOString());
    const undoPlaces = await Promise.all(
      [...new Set(undo.map(({ planId }) => planId))].map((planId) => this.#undoPlaces(planId)),
    );
    return {
      stateDir,
      sandboxes: {
        count: live.length,
        bytes: workspaces.reduce((sum, path) => sum + (sizeOf(path) ?? 0), 0),
      },
      undoRecords: {
        count: undo.length,
        bytes: undoPlaces.flat().reduce((sum, path) => sum + (sizeOf(path) ?? 0), 0),
      },
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
    const remove = async () => {
      const [use] = uses.living(leftover.planId);
      if (use !== undefined) return `'${use.command}' is running in it (pid ${use.owner.pid})`;
      try {
        if (!dryRun) await leftover.remove();
        return null;
      } catch (thrown) {
        if (thrown instanceof BusyError) return messageOf(thrown);
        throw thrown;
      }
    };
    const done = await (leftover.claimsItself ? remove() : session.plans.ifFree(leftover.planId, remove));
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

/** After two weeks the user of a plan, or the agent, is probably gone. */
const IDLE_MS = 14 * 86_400_000;
const HOLDS_WORK = "it may hold the only copy of a user's work";

function sizeOf(location: string): number | undefined {
  if (!location.startsWith("/") || !isThere(location)) return undefined;
  using root = Folder.open("/");
  return treeSize(root, location.slice(1));
}
