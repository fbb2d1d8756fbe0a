import type { FullCapabilities } from "../core/capabilities.ts";
import { SelfRunningError, UsageError } from "../core/errors/errors.ts";
import { PathPatterns } from "../core/paths/path-patterns.ts";
import { type PlanRecord, resourceById } from "../core/plan.ts";
import type { Resource } from "../core/resource/resource.ts";
import { linesFor, patternsFor } from "../core/resource-pattern.ts";
import type { SandboxRecord, SandboxRef } from "../core/sandbox.ts";
import type { LandingWords } from "../core/self-running/protected-paths.ts";
import { withoutWord } from "../core/self-running/self-running.ts";
import type { SelfRunningFile } from "../core/self-running/self-running-rules.ts";
import type { Participant, ParticipantKind } from "../core/transaction.ts";
import type { PlanSandboxes } from "../sandboxes/plan-sandboxes.ts";
import type { ChosenPaths } from "./commit-all.ts";

/** How a strategy takes part, by its declared capabilities. */
function kindOf(capabilities: FullCapabilities): ParticipantKind {
  if (capabilities.commit === "two-phase") return "two-phase";
  if (capabilities.commit === "in-place") return "in-place";
  return capabilities.undo ? "reversible" : "irreversible";
}

const KIND_ORDER: { readonly [kind in ParticipantKind]: number } = {
  "two-phase": 0,
  reversible: 2,
  irreversible: 3,
  "in-place": 4,
};

/** A sandbox that may take part, with the facts that decide its place in the order. */
interface Candidate {
  readonly sandbox: SandboxRecord;
  readonly resource: Resource;
  readonly kind: ParticipantKind;
  readonly isFinal: boolean;
  readonly rank: number;
  readonly depth: number;
}

/**
 * The participants of a commit in the order in which they prepare and land: first the two-phase ones, those
 * with a live transaction last; then those that can be taken back; then those that can't. Among equals,
 * children come before parents.
 */
export async function participantsOf(
  plan: PlanRecord,
  sandboxes: readonly SandboxRecord[],
  capabilitiesOf: (ref: SandboxRef) => Promise<FullCapabilities>,
): Promise<Participant[]> {
  const items: Candidate[] = [];
  for (const sandbox of sandboxes) {
    const resource = resourceById(plan, sandbox.ref.resourceId);
    if (resource === undefined) continue;
    const capabilities = await capabilitiesOf(sandbox.ref);
    const kind = kindOf(capabilities);
    items.push({
      sandbox,
      resource,
      kind,
      isFinal: kind === "two-phase" && !capabilities.undo,
      rank: KIND_ORDER[kind] + (capabilities.heldTransaction ? 1 : 0),
      depth: depthOf(resource, plan),
    });
  }
  items.sort((a, b) => a.rank - b.rank || b.depth - a.depth);
  return items.map(({ sandbox, resource, kind, isFinal }) => ({
    ref: sandbox.ref,
    resource: resource.name,
    kind,
    status: "waiting" as const,
    ...(isFinal && { isFinal }),
  }));
}

/** The participants with chosen paths. */
export async function choosing(
  participants: readonly Participant[],
  chosen: readonly ChosenPaths[],
  sandboxes: PlanSandboxes,
): Promise<Participant[]> {
  const choice: Participant[] = [];
  for (const participant of participants) {
    const found = chosen.find(({ resource }) => resource === participant.resource);
    if (found === undefined) continue;
    const { only, exactly } = found;
    await assertLandsInParts(sandboxes, participant, exactly !== undefined);
    choice.push({ ...participant, only, ...(exactly !== undefined && { exactly }) });
  }
  return choice;
}

/**
 * Refuses a sandbox that can't land in parts. The contract of custom strategies knows parts by patterns, and
 * not by exact paths.
 */
export async function assertLandsInParts(
  sandboxes: PlanSandboxes,
  { ref, resource }: Pick<Participant, "ref" | "resource">,
  isExact: boolean,
): Promise<void> {
  const { commit, partial } = await sandboxes.capabilitiesOf(ref);
  if (commit === "two-phase" && partial && (!isExact || (await sandboxes.isOfBuiltIn(ref)))) return;
  throw new UsageError(
    `${resource} can't land in parts: its strategy ${ref.strategyName} lands all or nothing.`,
    {
      hint: "Parts can land of folders and files in an overlay, a copy or a snapshot. Choose other paths, or apply the plan as a whole.",
      code: "NO_PARTS",
    },
  );
}

/**
 * The depth of a resource, larger for children: by declared parents first, else by the length of the path.
 */
function depthOf(resource: Resource, plan: PlanRecord): number {
  let declared = 0;
  for (
    let parent = resource.parentId;
    parent !== undefined && declared < plan.resources.length;
    declared += 1
  ) {
    parent = resourceById(plan, parent)?.parentId;
  }
  return declared * 10_000 + resource.location.split("/").length;
}

/** Refuses participants that can't be taken back, unless the user allows one; more than one in any case. */
export function assertReversible(participants: readonly Participant[], allowed: boolean): void {
  const irreversible = participants.filter(({ kind }) => kind === "irreversible" || kind === "in-place");
  const first = irreversible[0];
  if (first === undefined) return;
  if (!allowed) {
    throw new UsageError(
      `${first.resource} can't be taken back once it has landed (${first.ref.strategyName}).`,
      { code: "IRREVERSIBLE" },
    );
  }
  const last = irreversible.filter(({ kind }) => kind === "irreversible");
  if (last.length > 1) {
    throw new UsageError(
      `Only one resource that can't be taken back may be in a plan; this one has ${last.map(({ resource }) => resource).join(" and ")}.`,
      {
        hint: "Put each into a plan of its own.",
        code: "IRREVERSIBLE",
      },
    );
  }
}

/** Gives each participant the user's word on self-running files and protected paths. */
export function withWord(
  plan: PlanRecord,
  participants: readonly Participant[],
  { configured, allow, protect }: LandingWords,
): readonly Participant[] {
  return participants.map((participant) => {
    const patterns = (given: readonly string[]) => patternsFor(plan, participant.resource, given);
    const all = patterns([...configured, ...allow]);
    const lines = linesFor(plan, participant.resource, protect);
    return {
      ...participant,
      ...(all.length > 0 && { allow: all }),
      ...(lines.length > 0 && { protect: { lines, allow: patterns(allow) } }),
    };
  });
}

/**
 * Refuses self-running files that a custom strategy would land without that word. Built-in strategies check
 * by themselves in prepare, when the sandbox can't change any more; of a custom strategy only the diff is
 * known.
 */
export async function assertForeignHaveWord(
  plan: PlanRecord,
  participants: readonly Participant[],
  sandboxes: PlanSandboxes,
): Promise<void> {
  const files: SelfRunningFile[] = [];
  for (const { ref, resource, only, ...words } of participants) {
    if (await sandboxes.isOfBuiltIn(ref)) continue;
    const location = resourceById(plan, ref.resourceId)?.location ?? "";
    const { changes } = await sandboxes.strategy(ref.strategyName).diff(ref);
    const chosen = only === undefined ? undefined : new PathPatterns(only);
    const landing = changes.filter(({ path }) => chosen?.has(path) !== false);
    files.push(...withoutWord(location, landing, words).map((file) => ({ ...file, resource })));
  }
  if (files.length > 0) throw new SelfRunningError(files);
}
