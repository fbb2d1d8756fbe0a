import { SandboxStateError } from "../core/errors/errors.ts";
import { joinPath } from "../core/paths/byte-path.ts";
import { boundaryOf, isOver, type PlanRecord, type PlanResource } from "../core/plan.ts";
import type { Resource } from "../core/resource/resource.ts";
import { type SandboxRecord, sandboxIdFor } from "../core/sandbox.ts";
import { USABLE_STATES } from "../core/sandbox-states.ts";
import { irreversibleIn, landingsAmong, reversibleIn, type TransactionRecord } from "../core/transaction.ts";
import { linksOut } from "../engine/tree/links-out.ts";
import type { PlanSession } from "../sandboxes/access/plan-session.ts";
import { Folder } from "../system/calls/folder.ts";
import { isThere } from "../system/data/existence.ts";
import { factsOfPath } from "../system/data/locations.ts";
import { currentBootId } from "../system/process/process-identity.ts";
import { reviewState } from "./approvals.ts";
import { detachedCommand } from "./history/detached-command.ts";
import { hasLabels } from "./plan-labels.ts";
import type { DetachedView, ListPlansOptions, PlanResourceView, PlanView } from "./plan-views.ts";

/** Without `load`, no custom strategy is loaded for its notes on sandboxes. */
export interface DescribeOptions {
  readonly load?: boolean;
}

/** Plans as people and programs see them. */
export class PlanDescriptions {
  readonly #session: PlanSession;

  constructor(session: PlanSession) {
    this.#session = session;
  }

  async list(options: ListPlansOptions): Promise<readonly PlanView[]> {
    const plans = await this.#listed(options);
    return await Promise.all(plans.map((plan) => this.of(plan, { load: false })));
  }

  async #listed({ all = false, labels = {}, limit }: ListPlansOptions): Promise<readonly PlanRecord[]> {
    const { store } = this.#session;
    const which = all ? "all" : "open";
    const isWanted = (plan: PlanRecord): boolean => hasLabels(plan, labels);
    if (limit === undefined) return (await store.listPlans(which)).filter(isWanted);
    const wanted: PlanRecord[] = [];
    for (let behind: PlanRecord | undefined; wanted.length < limit; ) {
      const page = await store.listPlans(which, { limit, behind });
      wanted.push(...page.filter(isWanted));
      behind = page.at(-1);
      if (page.length < limit) break;
    }
    return wanted.slice(0, limit);
  }

  async of(plan: PlanRecord, options: DescribeOptions = {}): Promise<PlanView> {
    const { id, name, state, readOnly, createdAt, message, labels, host } = plan;
    const resources = await Promise.all(plan.resources.map((item) => this.#resource(plan, item, options)));
    const undo = await this.#undo(plan);
    const detached = options.load === false ? undefined : await this.#detached(id);
    const isMoving = state === "applying" || state === "undoing";
    const waits = isMoving ? ((await this.#session.waits?.(plan)) ?? []) : [];
    const review = isOver(plan) ? undefined : await reviewState(this.#session, id);
    return {
      id,
      name,
      state,
      readOnly,
      createdAt,
      ...(message !== undefined && { message }),
      ...(labels !== undefined && { labels }),
      ...(review !== undefined && { review }),
      ...(detached !== undefined && { detached }),
      ...undo,
      ...(host !== undefined && { host }),
      ...(waits.length > 0 && { waits }),
      resources,
    };
  }

  async #detached(planId: string): Promise<DetachedView | undefined> {
    const last = await detachedCommand(this.#session, planId);
    if (last === undefined) return undefined;
    const { output: _, ...view } = last;
    return view;
  }

  async #resource(plan: PlanRecord, item: PlanResource, options: DescribeOptions): Promise<PlanResourceView> {
    const { store } = this.#session;
    const { resource, strategy, why, within } = item;
    const boundary = boundaryOf(plan, item).resource;
    const parent = plan.resources.find((other) => other.resource.id === resource.parentId)?.resource.name;
    const id = sandboxIdFor(plan.id, boundary.id);
    const notes = await this.#notes(await store.sandbox(id), options);
    // Asking for the notes may have revealed that the work is lost.
    const record = await store.sandbox(id);
    const { name, type, location } = resource;
    const isHere = record?.ref.host === undefined;
    const place = record?.state === "CLEANED_UP" || !isHere ? undefined : record?.ref.metadata["path"];
    const path = typeof place === "string" && within !== undefined ? joinPath(place, within.path) : place;
    return {
      name,
      type,
      location,
      ...(parent !== undefined && { parent }),
      ...(within !== undefined && { sharesSandboxOf: boundary.name }),
      strategy,
      why,
      status: record?.state ?? "PENDING",
      ...(record?.error !== undefined && { error: record.error }),
      ...(isHere && isRestarted(record) && { restarted: true }),
      ...(notes.length > 0 && { notes }),
      ...(options.load !== false && linksIn(path, resource)),
      path: typeof path === "string" && isThere(path) ? path : null,
    };
  }

  /** No notes where the state itself says that work is lost or is being applied. */
  async #notes(record: SandboxRecord | undefined, options: DescribeOptions): Promise<readonly string[]> {
    if (record === undefined || !USABLE_STATES.includes(record.state)) return [];
    try {
      return await this.#session.sandboxes.notes(record.ref, options);
    } catch (thrown) {
      if (thrown instanceof SandboxStateError) return [];
      throw thrown;
    }
  }

  /** Until when the last landing can be undone, or why it can't; nothing for a plan without a landing. */
  async #undo(plan: PlanRecord): Promise<Pick<PlanView, "undo" | "stays">> {
    const { store, settings } = this.#session;
    const transactions = await store.transactionsOf(plan.id);
    if (plan.state === "undone") return lastingAfter(transactions);
    if (plan.state !== "applied" && plan.state !== "open") return {};
    const landed = landingsAmong(transactions).at(-1);
    if (landed === undefined && plan.state === "open") return {};
    const stuck = landed === undefined ? [] : irreversibleIn(landed);
    const [first] = stuck;
    if (first !== undefined && landed !== undefined && reversibleIn(landed).length === 0)
      return { undo: { not: `${first.resource} can't be taken back (${first.ref.strategyName})` } };
    if (landed?.finishedAt === undefined || landed.undoRecord !== undefined)
      return { undo: { not: "its undo record is no longer kept" } };
    return {
      undo: {
        until: new Date(Date.parse(landed.finishedAt) + settings.undo.keepMilliseconds).toISOString(),
        ...(first !== undefined && { leaving: stuck.map(({ resource }) => resource) }),
      },
    };
  }
}

function lastingAfter(transactions: readonly TransactionRecord[]): Pick<PlanView, "stays"> {
  const stays = transactions.flatMap(({ phase, leaves }) => (phase === "aborted" ? [] : (leaves ?? [])));
  return stays.length === 0 ? {} : { stays };
}

/** A look at a plan is cheap, however large its resources are. */
const LOOKED_AT = { entries: 5000, links: 5 };

/**
 * The links that lead out of a sandbox that programs can find. Where it is not mounted now, those of the
 * original, which it shows.
 */
function linksIn(path: unknown, { location, properties }: Resource): Pick<PlanResourceView, "linksOut"> {
  if (typeof path !== "string" || !path.startsWith("/")) return {};
  const root = isThere(path) ? path : location;
  if (!root.startsWith("/") || factsOfPath(root)?.kind !== "directory") return {};
  using folder = Folder.open(root);
  const without = Array.isArray(properties["without"]) ? properties["without"] : [];
  const found = linksOut(folder, { ...LOOKED_AT, without });
  return found.length === 0 ? {} : { linksOut: found };
}

/** Whether work in a sandbox may be missing because the machine was restarted since it was made. */
function isRestarted(record: SandboxRecord | undefined): boolean {
  const holdsWork = record !== undefined && USABLE_STATES.includes(record.state);
  return holdsWork && record.bootId !== undefined && record.bootId !== currentBootId();
}
