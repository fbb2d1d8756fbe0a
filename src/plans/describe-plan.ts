import { joinPath } from "../core/byte-path.ts";
import { SandboxStateError } from "../core/errors.ts";
import { boundaryOf, type PlanRecord, type PlanResource } from "../core/plan.ts";
import { type SandboxRecord, type SandboxRef, sandboxIdFor } from "../core/sandbox.ts";
import { USABLE_STATES } from "../core/sandbox-states.ts";
import type { Store } from "../store/store.ts";
import { isThere } from "../system/existence.ts";
import { currentBootId } from "../system/process-identity.ts";
import { describeUndo } from "./describe-undo.ts";
import type { PlanResourceView, PlanView } from "./plan-views.ts";

/** Asks a strategy what is to be said of a sandbox. */
export type NotesOf = (ref: SandboxRef) => Promise<readonly string[]>;

/** A plan as people and programs see it. */
export async function describePlan(
  store: Store,
  plan: PlanRecord,
  notesOf: NotesOf,
  undoKeepMs: number,
): Promise<PlanView> {
  const { id, name, state, readOnly, createdAt, message } = plan;
  const resources = await Promise.all(plan.resources.map((item) => describeResource(store, plan, item, notesOf)));
  const undo = await describeUndo(store, plan, undoKeepMs);
  return { id, name, state, readOnly, createdAt, ...(message !== undefined && { message }), ...undo, resources };
}

async function describeResource(
  store: Store,
  plan: PlanRecord,
  item: PlanResource,
  notesOf: NotesOf,
): Promise<PlanResourceView> {
  const { resource, strategy, why, within } = item;
  const boundary = boundaryOf(plan, item).resource;
  const parent = plan.resources.find((other) => other.resource.id === resource.parentId)?.resource.name;
  const id = sandboxIdFor(plan.id, boundary.id);
  const notes = await notesOn(await store.sandbox(id), notesOf);
  // What is said of it may have shown that its work is gone.
  const record = await store.sandbox(id);
  const { name, type, location } = resource;
  const place = record?.state === "CLEANED_UP" ? undefined : record?.ref.metadata["path"];
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
    ...(isRestarted(record) && { restarted: true }),
    ...(notes.length > 0 && { notes }),
    path: typeof path === "string" && isThere(path) ? path : null,
  };
}

/** That its work is gone is said by its state; so is that it is being applied. */
async function notesOn(record: SandboxRecord | undefined, notesOf: NotesOf): Promise<readonly string[]> {
  if (record === undefined || !USABLE_STATES.includes(record.state)) return [];
  try {
    return await notesOf(record.ref);
  } catch (thrown) {
    if (thrown instanceof SandboxStateError) return [];
    throw thrown;
  }
}

/** Whether work in a sandbox may be missing because the machine was restarted since it was made. */
function isRestarted(record: SandboxRecord | undefined): boolean {
  const holdsWork = record !== undefined && USABLE_STATES.includes(record.state);
  return holdsWork && record.bootId !== undefined && record.bootId !== currentBootId();
}
