import { PlanStateError } from "./errors/errors.ts";
import type { Resource } from "./resource/resource.ts";
import type { ResourceCapability } from "./resource/resource-types.ts";

/**
 * The life of a plan, and what a crash in each state means:
 * - creating: its sandboxes are being made. Recovery closes it.
 * - open: work goes on. It outlives any process.
 * - adding: other resources join it. Recovery takes that back.
 * - restoring: its sandboxes are being restored to a checkpoint. Recovery finishes that or takes it back.
 * - updating: what other writers changed is being merged into its sandboxes. Recovery takes that back.
 * - applying, undoing: its journal has an unfinished transaction, which recovery ends. A transaction over a
 *   part of the work leads from open back to open.
 * - closing: it was given up and its sandboxes are being removed. Recovery continues that. If parts of it
 *   have landed, it ends as applied: they stay, and can be undone.
 * - applied, undone, cancelled: over.
 * - abandoned: a person ended it as it was; parts of it may still exist.
 */
export const PLAN_STATES = [
  "creating",
  "open",
  "adding",
  "restoring",
  "updating",
  "applying",
  "applied",
  "undoing",
  "undone",
  "closing",
  "cancelled",
  "abandoned",
] as const;
export type PlanState = (typeof PLAN_STATES)[number];

const PLAN_MOVES: { readonly [from in PlanState]: readonly PlanState[] } = {
  creating: ["open", "closing", "abandoned"],
  open: ["adding", "restoring", "updating", "applying", "undoing", "closing", "abandoned"],
  adding: ["open", "closing", "abandoned"],
  restoring: ["open", "closing", "abandoned"],
  updating: ["open", "closing", "abandoned"],
  applying: ["open", "applied", "abandoned"],
  applied: ["undoing"],
  undoing: ["open", "applied", "undone", "abandoned"],
  undone: [],
  closing: ["applied", "cancelled", "abandoned"],
  cancelled: [],
  abandoned: [],
};

/**
 * The states in which a plan is over. The store's index of open plans has the same words (store/schema.ts).
 */
const OVER: readonly PlanState[] = ["applied", "undone", "cancelled", "abandoned"];

/** Whether a plan is over. */
export function isOver({ state }: Pick<PlanRecord, "state">): boolean {
  return OVER.includes(state);
}

/** What programs note about a plan, to find it by. */
export interface PlanLabels {
  readonly [key: string]: string;
}

/** A named set of sandboxes that land together. */
export interface PlanRecord {
  /** A ULID. */
  readonly id: string;
  readonly name: string;
  readonly state: PlanState;
  /** It can never be applied. */
  readonly readOnly: boolean;
  /** The user's word, given at creation, that it may hold resources whose changes can't be undone. */
  readonly allowIrreversible: boolean;
  /** UTC, ISO 8601. */
  readonly createdAt: string;
  /** The message of the last apply. */
  readonly message?: string;
  readonly labels?: PlanLabels;
  readonly resources: readonly PlanResource[];
  /** While it is `adding`: the resources that join it. */
  readonly joining?: readonly PlanResource[];
  /** The host of the fleet on which it was made, if that is another one than this. */
  readonly host?: string;
}

/** A resource of a plan, with the strategy that isolates it and the reason for that one. */
export interface PlanResource {
  readonly resource: Resource;
  readonly strategy: string;
  readonly why: string;
  /**
   * For a resource inside another one of the plan, whose sandbox it shares: that resource, and the path in
   * it.
   */
  readonly within?: { readonly resourceId: string; readonly path: string };
  /** The capabilities of its type, where that does not allow everything. */
  readonly may?: readonly ResourceCapability[];
}

/** The resource of a plan with this id. */
export function resourceById(plan: Pick<PlanRecord, "resources">, id: string): Resource | undefined {
  return plan.resources.find(({ resource }) => resource.id === id)?.resource;
}

/** The resource whose sandbox holds this one: mostly itself. */
export function boundaryOf(plan: Pick<PlanRecord, "resources">, item: PlanResource): PlanResource {
  const { within } = item;
  return within === undefined
    ? item
    : (plan.resources.find(({ resource }) => resource.id === within.resourceId) ?? item);
}

/** The resources of a plan that have a sandbox of their own. */
export function boundariesOf(plan: Pick<PlanRecord, "resources">): readonly PlanResource[] {
  return plan.resources.filter(({ within }) => within === undefined);
}

/** Returns `to` if the plan may move there from its state. */
export function movePlan(plan: PlanRecord, to: PlanState): PlanState {
  if (PLAN_MOVES[plan.state].includes(to)) return to;
  throw new PlanStateError(plan, to);
}
