import type { UndoRetention } from "../../commit/cleanup/undo-retention.ts";
import { BusyError } from "../../core/errors/errors.ts";
import { isOver } from "../../core/plan.ts";
import type { SandboxRecord } from "../../core/sandbox.ts";
import { isUnfinished, keepsForeignWork, type TransactionRecord } from "../../core/transaction.ts";
import { forgetRestored, restoredPath } from "../../engine/base/own-touches.ts";
import { findPlace, homeIds, removeWorkspace } from "../../engine/workspace/workspace.ts";
import type { PlanSession } from "../../sandboxes/access/plan-session.ts";
import { placesOf } from "../../sandboxes/remains/known-places.ts";
import type { RestoredRemains } from "../../sandboxes/remains/restored-remains.ts";
import type { RunFolders } from "../../sandboxes/remains/run-folders.ts";
import type { IntentRecord } from "../../store/store.ts";
import { isThere } from "../../system/data/existence.ts";

/** A leftover: places that Drydock made and no plan needs any more, with the way to remove them. */
export interface Leftover {
  /** These places are removed together. */
  readonly places: readonly { readonly kind: string; readonly location: string }[];
  readonly planId: string;
  /** UTC, ISO 8601; undefined if it was not recorded. */
  readonly since: string | undefined;
  readonly reason: string;
  /** It may hold the only copy of work that was never applied, or of changes of another writer. */
  readonly holdsWork: boolean;
  /** The caller holds the plan's claim, unless `remove` takes it by itself. */
  readonly claimsItself?: true;
  remove(): Promise<void>;
}

export interface LeftoverParts {
  readonly session: PlanSession;
  readonly folders: RunFolders;
  readonly undoRetention: UndoRetention;
  readonly restored: RestoredRemains;
  readonly owners: { dead(): readonly string[]; forget(file: string): void };
}

/**
 * Finds all leftovers from the records alone: places that no open plan refers to, and places that should have
 * gone with something else. Only homes in the state directory are looked for by name, because only there
 * everything is ours.
 */
export async function findLeftovers(parts: LeftoverParts): Promise<readonly Leftover[]> {
  const { store, stateDir } = parts.session;
  const intents = Map.groupBy(await store.intents(), ({ sandboxId }) => sandboxId);
  const found: Leftover[] = [];
  const seen = new Set<string>();
  for (const record of await store.liveSandboxes()) {
    seen.add(record.ref.sandboxId);
    const leftover = await abandonedSandbox(parts, record, intents.get(record.ref.sandboxId) ?? []);
    if (leftover !== undefined) found.push(leftover);
  }
  for (const id of new Set([...intents.keys(), ...homeIds(stateDir)])) {
    if (seen.has(id)) continue;
    const leftover = await remains(parts, id, intents.get(id) ?? []);
    if (leftover !== undefined) found.push(leftover);
  }
  return [...found, ...(await deadRuns(parts)), ...(await rememberedTimes(parts)), ...deadOwners(parts)];
}

/**
 * Records of undos about originals that no plan needs; they go with the last plan, unless a crash prevents
 * that.
 */
async function rememberedTimes({
  restored,
  session: { stateDir },
}: LeftoverParts): Promise<readonly Leftover[]> {
  return (await restored.unneeded()).map((name) => ({
    ...OF_NO_PLAN,
    places: [{ kind: "times", location: restoredPath(stateDir, name) }],
    reason: "no plan on its original needs it",
    remove: async () => {
      if ((await restored.unneeded()).includes(name)) forgetRestored(stateDir, name);
    },
  }));
}

/** The locks of processes that were killed. The next command that changes something removes them too. */
function deadOwners({ owners }: LeftoverParts): readonly Leftover[] {
  return owners.dead().map((location) => ({
    ...OF_NO_PLAN,
    places: [{ kind: "lock", location }],
    reason: "its process is dead",
    remove: async () => owners.forget(location),
  }));
}

const OF_NO_PLAN = { planId: "", since: undefined, holdsWork: false };

/** A sandbox that exists, though its plan is over or unknown. */
async function abandonedSandbox(
  parts: LeftoverParts,
  record: SandboxRecord,
  intents: readonly IntentRecord[],
): Promise<Leftover | undefined> {
  const { ref, state } = record;
  const { removal } = parts.session.sandboxes;
  const plan = await parts.session.store.plan(ref.planId);
  if (plan !== undefined && !isOver(plan)) return undefined;
  const isAbandoned = plan?.state === "abandoned";
  const known = placesOf(record, intents);
  // A user may have removed some by hand. If that were all, only the record is left to go.
  const places = known.filter(isLeft);
  const mayHoldWork = known.length === 0 || places.length > 0;
  return {
    places,
    planId: ref.planId,
    since: record.createdAt,
    reason: plan === undefined ? "no record knows its plan" : `its plan is ${plan.state}`,
    // A cancel has thrown the work away already; abandoning a plan has thrown away all work that no
    // transaction held.
    holdsWork:
      mayHoldWork &&
      !(await parts.session.history.wasCancelled(ref.planId)) &&
      ((state === "ACTIVE" && !isAbandoned) || state === "ERRORED"),
    remove: () => (isAbandoned ? removal.removeWhole(record) : removal.remove(record, "nothing")),
  };
}

/** Whether a place is still there, as far as can be known. */
function isLeft({ location }: { readonly location: string }): boolean {
  return !location.startsWith("/") || isThere(location);
}

/** The places of a sandbox that is gone, or that no record knows. */
async function remains(
  parts: LeftoverParts,
  sandboxId: string,
  intents: readonly IntentRecord[],
): Promise<Leftover | undefined> {
  const { store } = parts.session;
  const record = await store.sandbox(sandboxId);
  if (record === undefined) return orphan(parts, sandboxId, intents);
  const places = placesOf(record, intents).filter(isLeft);
  if (places.length === 0) return undefined;
  const transactions = await store.transactionsOf(record.ref.planId);
  const landings = transactions.filter((transaction) => landedFrom(transaction, sandboxId));
  const landed = landings.find(({ undoRecord: state }) => state === "discarding");
  const needed = landings.some(({ undoRecord: state }) => state === undefined);
  if (needed || transactions.some(isUnfinished)) return undefined;
  const facts = { places, planId: record.ref.planId, since: record.createdAt };
  if (landed !== undefined) return undoRecord(parts, landed, facts);
  const keepsTheirs = transactions.some(({ participants }) =>
    participants.some(
      (participant) => participant.ref.sandboxId === sandboxId && keepsForeignWork(participant),
    ),
  );
  return {
    ...facts,
    reason: keepsTheirs ? "it keeps changes of another writer" : "its sandbox is gone",
    holdsWork: keepsTheirs,
    remove: () => parts.session.sandboxes.removal.removeWhole(record),
  };
}

function undoRecord(
  { undoRetention }: LeftoverParts,
  { id }: TransactionRecord,
  facts: Pick<Leftover, "places" | "planId" | "since">,
): Leftover {
  return {
    ...facts,
    places: facts.places.map(({ location }) => ({ kind: "undo record", location })),
    reason: "its undo record is too old",
    holdsWork: false,
    claimsItself: true,
    remove: async () => {
      const failed = await undoRetention.discard(id);
      if (failed === undefined)
        throw new BusyError("another process works on its plan", { holder: "another process" });
      if (failed[0] !== undefined) throw new Error(failed[0].why);
    },
  };
}

/**
 * A home without a record: the state was lost, or replaced by an earlier one. Only its name says that it is
 * ours.
 */
function orphan(
  { session: { store, stateDir } }: LeftoverParts,
  sandboxId: string,
  intents: readonly IntentRecord[],
): Leftover | undefined {
  const place = findPlace(stateDir, sandboxId);
  if (place === undefined) return undefined;
  return {
    places: [{ kind: "folder", location: place.path }],
    planId: sandboxId.slice(0, sandboxId.indexOf("-")),
    since: intents[0]?.recordedAt,
    reason: "no record knows it",
    holdsWork: true,
    remove: async () => {
      removeWorkspace(stateDir, sandboxId, place);
      await store.write([{ drop: "intents", sandboxId }], "ordered");
    },
  };
}

/** The folders of commands in plans that are over; most go when the state directory is opened. */
async function deadRuns({ session: { store }, folders }: LeftoverParts): Promise<readonly Leftover[]> {
  const found: Leftover[] = [];
  for (const planId of folders.plans()) {
    const plan = await store.plan(planId);
    if (plan !== undefined && !isOver(plan)) continue;
    found.push({
      places: folders.placesOf(planId),
      planId,
      since: plan?.createdAt,
      reason: plan === undefined ? "no record knows its plan" : `its plan is ${plan.state}`,
      holdsWork: false,
      remove: async () => folders.remove(planId),
    });
  }
  return found;
}

function landedFrom({ direction, phase, participants }: TransactionRecord, sandboxId: string): boolean {
  const took = participants.some(({ ref, status }) => ref.sandboxId === sandboxId && status === "committed");
  return direction === "commit" && phase === "done" && took;
}
