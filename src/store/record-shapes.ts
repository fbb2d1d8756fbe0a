import type { ExactPart } from "../core/change.ts";
import type { CheckpointPart, CheckpointRecord, CheckpointState } from "../core/checkpoint.ts";
import type { Conflict, ParticipantReport } from "../core/errors/errors.ts";
import type { Owner } from "../core/owner.ts";
import { PLAN_STATES, type PlanRecord, type PlanResource } from "../core/plan.ts";
import type { Resource } from "../core/resource/resource.ts";
import type { MadeWith, SandboxRecord, SandboxRef } from "../core/sandbox.ts";
import { SANDBOX_STATES } from "../core/sandbox-states.ts";
import type { Protection } from "../core/self-running/protected-paths.ts";
import type { Attention, PreparedCommit } from "../core/strategy.ts";
import type {
  LandedList,
  LastingResource,
  Participant,
  ParticipantKind,
  ParticipantStatus,
  TransactionPhase,
  TransactionRecord,
} from "../core/transaction.ts";
import type { PolicyLine } from "../core/values/run-policy.ts";
import {
  anyObject,
  list,
  number,
  object,
  oneOf,
  optional,
  record,
  text,
  truth,
} from "../core/values/shape.ts";
import type { HistoryEntry, IntentRecord } from "./store.ts";

/**
 * The shapes that records must have to be used. Drydock wrote them, but a disk, a person or another program
 * may have changed them since; a missing field must not become a defect elsewhere.
 */

const phases: { readonly [phase in TransactionPhase]: true } = {
  preparing: true,
  landing: true,
  landed: true,
  aborting: true,
  "in-doubt": true,
  done: true,
  aborted: true,
};
const kinds: { readonly [kind in ParticipantKind]: true } = {
  "two-phase": true,
  reversible: true,
  irreversible: true,
  "in-place": true,
};
const statuses: { readonly [status in ParticipantStatus]: true } = {
  waiting: true,
  prepared: true,
  unchanged: true,
  started: true,
  committed: true,
  undone: true,
  "not-undone": true,
};
const checkpointStates: { readonly [state in CheckpointState]: true } = {
  saving: true,
  saved: true,
  restoring: true,
  returning: true,
  dropping: true,
};

export const ownerShape = object<Owner>({
  id: text,
  host: text,
  bootId: text,
  pid: number,
  startTime: text,
  command: text,
});

const resource = object<Resource>({
  id: text,
  name: text,
  type: text,
  location: text,
  lineage: optional(list(text)),
  parentId: optional(text),
  properties: anyObject,
});

const planResource = object<PlanResource>({
  resource,
  strategy: text,
  why: text,
  within: optional(object<NonNullable<PlanResource["within"]>>({ resourceId: text, path: text })),
  may: optional(list(text)),
});

const ref = object<SandboxRef>({
  sandboxId: text,
  planId: text,
  resourceId: text,
  strategyName: text,
  metadata: anyObject,
  capabilities: optional(anyObject),
  madeWith: optional(object<MadeWith>({ version: optional(text), options: optional(anyObject) })),
  host: optional(text),
});

const prepared = object<PreparedCommit>({ changes: number, data: anyObject, warnings: optional(list(text)) });

const attention = object<Attention>({ path: text, message: text, keptAt: optional(text) });

const participant = object<Participant>({
  ref,
  resource: text,
  kind: oneOf(...Object.keys(kinds)),
  status: oneOf(...Object.keys(statuses)),
  only: optional(list(text)),
  exactly: optional(
    object<ExactPart>({ paths: list(text), hunks: optional(anyObject), edited: optional(anyObject) }),
  ),
  allow: optional(list(text)),
  protect: optional(
    object<Protection>({
      lines: list(object<PolicyLine>({ value: text, from: text })),
      allow: list(text),
    }),
  ),
  isFinal: optional(truth),
  prepared: optional(prepared),
  undoes: optional(prepared),
  changes: optional(number),
  attention: optional(list(attention)),
  message: optional(text),
});

const failure = object<NonNullable<TransactionRecord["failure"]>>({
  report: object<ParticipantReport>({ resource: text, message: text }),
  conflicts: list(object<Conflict>({ resource: optional(text), path: text, why: text })),
});

export const planShape = object<PlanRecord>({
  id: text,
  name: text,
  state: oneOf(...PLAN_STATES),
  readOnly: truth,
  allowIrreversible: truth,
  createdAt: text,
  message: optional(text),
  labels: optional(record(text)),
  resources: list(planResource),
  joining: optional(list(planResource)),
  host: optional(text),
});

export const sandboxShape = object<SandboxRecord>({
  ref,
  state: oneOf(...SANDBOX_STATES),
  error: optional(text),
  createdAt: text,
  bootId: optional(text),
});

const lasting = object<LastingResource>({ resource: text, strategy: text, changes: optional(number) });

export const transactionShape = object<TransactionRecord>({
  id: text,
  planId: text,
  direction: oneOf("commit", "undo"),
  message: optional(text),
  squash: optional(truth),
  afterRestart: optional(truth),
  givenUp: optional(truth),
  undoes: optional(text),
  staysIn: optional(oneOf("open", "applied")),
  owner: ownerShape,
  startedAt: text,
  phase: oneOf(...Object.keys(phases)),
  participants: list(participant),
  leaves: optional(list(lasting)),
  failure: optional(failure),
  finishedAt: optional(text),
  undoRecord: optional(oneOf("used", "discarding", "discarded")),
  landed: optional(object<LandedList>({ changes: list(anyObject), unlisted: anyObject })),
});

export const checkpointShape = object<CheckpointRecord>({
  id: text,
  planId: text,
  label: optional(text),
  createdAt: text,
  before: optional(text),
  state: oneOf(...Object.keys(checkpointStates)),
  restores: optional(text),
  parts: list(
    object<CheckpointPart>({ sandboxId: text, dataId: text, mark: optional(text), bytes: optional(number) }),
  ),
});

export const intentShape = object<IntentRecord>({
  sandboxId: text,
  planId: text,
  kind: text,
  location: text,
  recordedAt: text,
  owner: ownerShape,
});

export const historyShape = object<HistoryEntry>({
  planId: text,
  at: text,
  actor: text,
  pid: optional(number),
  event: text,
  details: anyObject,
});

export const claimShape = object<{ readonly key: string; readonly owner: Owner }>({
  key: text,
  owner: ownerShape,
});
