import type { UndoOptions } from "../commit/commit-all.ts";
import {
  amount,
  callback,
  clock,
  content,
  fields,
  list,
  oneOf,
  optional,
  path,
  type Reader,
  record,
  signal,
  text,
  truth,
} from "../core/values/arguments.ts";
import { type CheckedMethods, withCheckedCalls } from "../core/values/checked-calls.ts";
import { RESOLUTIONS } from "../core/values/merge.ts";
import type { ListOptions, ReadRange } from "../plans/entries/entry-views.ts";
import type { ApplyOptions } from "../plans/landing-views.ts";
import type {
  AddOptions,
  CheckpointOptions,
  CreatePlanOptions,
  DiffOptions,
  EventsOptions,
  ListPlansOptions,
  PatchOptions,
  ResourceRequest,
} from "../plans/plan-views.ts";
import type { ApproveOptions, ReviewRequestOptions } from "../plans/review/approval-views.ts";
import type { ResolveOptions, RollbackOptions } from "../plans/updates/update-views.ts";
import type { CaptureRequest } from "../run/capture.ts";
import type { ExecRequest } from "../run/exec.ts";
import type { ExplainRequest, ExplainRunRequest } from "../run/policy/explain.ts";
import type { RunApplyOptions, RunDecision, RunRequest } from "../run/run-once.ts";
import type { SpawnRequest } from "../run/spawn.ts";
import type { CallOptions } from "./call-options.ts";
import {
  callFields,
  callOptions,
  captureFields,
  execFields,
  explainFields,
  spawnFields,
} from "./command-arguments.ts";
import { detachMethods } from "./detached-handle.ts";
import { diffFields, diffPageOptions } from "./diff-arguments.ts";
import type { Drydock, DrydockOptions } from "./drydock.ts";
import { cleanupMethods, hostsMethods, strategiesMethods, typesMethods } from "./machine-arguments.ts";
import type { Plan, PlanSweeps, Plans, ResourceHandle } from "./plan.ts";
import type { Content, RunOptions, SpawnOptions, Workspace } from "./workspace.ts";

/**
 * The public border: the arguments that each function of the library accepts. Inside it, the types hold. The
 * compiler checks that every method of every public interface is here.
 */

const resourceRequest = fields<ResourceRequest>({
  name: optional(text),
  location: path,
  type: optional(text),
  strategy: optional(text),
  from: optional(text),
});

const createFields = {
  resources: list(resourceRequest),
  name: optional(text),
  labels: optional(record(text)),
  readOnly: optional(truth),
  allowIrreversible: optional(truth),
  withoutPaths: optional(truth),
};
const createPlanOptions = fields<CreatePlanOptions>(createFields);

const wantedLabel: Reader<string | true> = (value, at) => (value === true ? true : text(value, at));

/** The same for a file to write, of any asynchronous source. */
const fileContent: Reader<Content> = (value, at) =>
  typeof value === "object" && value !== null && Symbol.asyncIterator in value
    ? (value as AsyncIterable<Uint8Array>)
    : content(value, at);

/** Checks the decision: an unknown one must not land anything. */
const decider: Reader<RunRequest["decide"]> = (value, at) => {
  const decide = callback<RunRequest["decide"]>()(value, at);
  const word = oneOf("apply", "keep", "discard");
  const withWord = fields<Extract<RunDecision, object>>({
    apply: fields<RunApplyOptions>({ allow: optional(list(text)), only: optional(list(path)) }),
  });
  return async (finding) => {
    const decision: unknown = await decide(finding);
    return (typeof decision === "object" ? withWord : word)(decision, `what ${at} returns`);
  };
};

const onChange = optional(callback<NonNullable<DiffOptions["onChange"]>>());
const onDiff = optional(callback<NonNullable<PatchOptions["onDiff"]>>());
const applyOptions = fields<ApplyOptions & CallOptions>({
  ...callFields,
  message: optional(text),
  digest: optional(text),
  approved: optional(truth),
  approvedPart: optional(truth),
  only: optional(list(path)),
  allow: optional(list(text)),
  check: optional(list(text)),
  checks: optional(truth),
  dryRun: optional(truth),
  squash: optional(truth),
  allowIrreversible: optional(truth),
  afterRestart: optional(truth),
  update: optional(truth),
});

const undoOptions = fields<UndoOptions & CallOptions>({ ...callFields, leave: optional(list(text)) });

const addOptions = fields<AddOptions & CallOptions>({
  ...callFields,
  resources: createFields.resources,
  allowIrreversible: optional(truth),
  withoutPaths: createFields.withoutPaths,
});

const approveOptions = fields<ApproveOptions>({
  digest: text,
  allow: optional(list(text)),
  via: optional(text),
});

const eventsFields = { after: optional(text), signal: optional(signal) };

const resourceMethods: CheckedMethods<ResourceHandle> = {
  path: [callOptions],
  // The strategies refuse bad paths inside a resource, with an error of their own.
  read: [["path", text], callOptions],
  write: [["path", text], ["content", content], callOptions],
  sql: [["script", text], callOptions],
  sandbox: [],
};

const planMethods: CheckedMethods<Plan> = {
  ...resourceMethods,
  resource: [["name", text]],
  workspace: [["resource", optional(text)]],
  show: [],
  exec: [["request", fields<ExecRequest>(execFields)]],
  run: [["request", fields<CaptureRequest>(captureFields)]],
  spawn: [["request", fields<SpawnRequest>(spawnFields)]],
  explain: [["request", optional(fields<ExplainRequest>(explainFields))]],
  ...detachMethods,
  diff: [
    ["options", optional(fields<DiffOptions & CallOptions>({ ...diffFields, ...callFields, onChange }))],
  ],
  patch: [
    [
      "options",
      optional(
        fields<PatchOptions & CallOptions>({
          ...diffFields,
          ...callFields,
          onDiff,
          onlyText: optional(truth),
        }),
      ),
    ],
  ],
  apply: [["options", optional(applyOptions)]],
  add: [["options", addOptions]],
  scratch: [],
  approve: [["options", approveOptions]],
  requestReview: [["options", optional(fields<ReviewRequestOptions>({ message: optional(text) }))]],
  approval: [],
  undo: [["options", optional(undoOptions)]],
  rollback: [
    [
      "options",
      optional(
        fields<RollbackOptions & CallOptions>({
          ...callFields,
          only: optional(list(path)),
          rejected: optional(truth),
        }),
      ),
    ],
  ],
  checkpoint: [
    ["options", optional(fields<CheckpointOptions & CallOptions>({ ...callFields, label: optional(text) }))],
  ],
  checkpoints: [],
  restore: [["checkpoint", text], callOptions],
  update: [callOptions],
  resolve: [
    [
      "options",
      fields<ResolveOptions & CallOptions>({
        ...callFields,
        resource: optional(text),
        path,
        how: oneOf(...RESOLUTIONS),
      }),
    ],
  ],
  log: [],
  events: [["options", optional(fields<Omit<EventsOptions, "plan">>(eventsFields))]],
  settle: [["how", oneOf("commit", "abort")]],
  abandon: [],
};

const { command: words, ...runOptions } = captureFields;
const { command: _, ...spawnOptions } = spawnFields;
const range = { offset: optional(amount), length: optional(amount), ...callFields };
const pathArgument = ["path", text] as const;
const readArguments = [pathArgument, ["options", optional(fields<ReadRange & CallOptions>(range))]] as const;

const workspaceMethods: CheckedMethods<Workspace> = {
  readFile: readArguments,
  readStream: readArguments,
  writeFile: [pathArgument, ["content", fileContent], callOptions],
  stat: [pathArgument, callOptions],
  list: [
    pathArgument,
    [
      "options",
      optional(
        fields<ListOptions & CallOptions>({
          ...callFields,
          recursive: optional(truth),
          match: optional(text),
          prefix: optional(text),
          cursor: optional(text),
          limit: optional(amount),
        }),
      ),
    ],
  ],
  remove: [
    pathArgument,
    [
      "options",
      optional(
        fields<{ readonly recursive?: boolean } & CallOptions>({ ...callFields, recursive: optional(truth) }),
      ),
    ],
  ],
  rename: [["from", text], ["to", text], callOptions],
  makeFolder: [pathArgument, callOptions],
  run: [
    ["command", words],
    ["options", optional(fields<RunOptions>(runOptions))],
  ],
  spawn: [
    ["command", words],
    ["options", optional(fields<SpawnOptions>(spawnOptions))],
  ],
  sql: [["script", text], callOptions],
  checkpoint: planMethods.checkpoint,
  restore: planMethods.restore,
  diff: [["options", optional(diffPageOptions)]],
  close: [],
};

const sweepMethods: CheckedMethods<PlanSweeps> = { rollback: [], remove: [], removeAbandoned: [] };

const plansMethods: CheckedMethods<Plans> = {
  create: [["options", fields<CreatePlanOptions & CallOptions>({ ...createFields, ...callFields })]],
  open: [["plan", text]],
  list: [
    [
      "options",
      optional(
        fields<ListPlansOptions>({
          all: optional(truth),
          labels: optional(record(wantedLabel)),
          limit: optional(amount),
        }),
      ),
    ],
  ],
};

const drydockMethods: CheckedMethods<Drydock> = {
  run: [
    [
      "request",
      fields<RunRequest>({
        ...execFields,
        plan: createPlanOptions,
        allow: optional(list(text)),
        message: optional(text),
        squash: optional(truth),
        talk: optional(callback<NonNullable<RunRequest["talk"]>>()),
        decide: decider,
        onKept: optional(callback<NonNullable<RunRequest["onKept"]>>()),
      }),
    ],
  ],
  explain: [["request", fields<ExplainRunRequest>({ ...explainFields, resources: createFields.resources })]],
  events: [["options", optional(fields<EventsOptions>({ ...eventsFields, plan: optional(text) }))]],
  recover: [],
  doctor: [],
  trust: [["file", path]],
  close: [],
};

const options = fields<DrydockOptions>({
  stateDir: optional(path),
  config: optional(path),
  cwd: optional(path),
  environment: optional(record(optional(text))),
  command: optional(text),
  onProgress: optional(callback<NonNullable<DrydockOptions["onProgress"]>>()),
  onNotice: optional(callback<NonNullable<DrydockOptions["onNotice"]>>()),
  signal: optional(signal),
  strategies: optional(list(callback<NonNullable<DrydockOptions["strategies"]>[number]>())),
  now: optional(clock),
  makesRoom: optional(truth),
});

/** Reads the options of `openDrydock`. */
export function drydockOptions(given: unknown): DrydockOptions {
  return optional(options)(given, "openDrydock: options") ?? {};
}

/** Drydock with functions that check their arguments. */
export function checkedDrydock(drydock: Drydock): Drydock {
  const checked: Drydock = {
    ...drydock,
    plans: withCheckedCalls(drydock.plans, "plans.", plansMethods),
    cleanup: withCheckedCalls(drydock.cleanup, "cleanup.", cleanupMethods),
    hosts: withCheckedCalls(drydock.hosts, "hosts.", hostsMethods),
    strategies: withCheckedCalls(drydock.strategies, "strategies.", strategiesMethods),
    resourceTypes: withCheckedCalls(drydock.resourceTypes, "resourceTypes.", typesMethods),
  };
  return withCheckedCalls(checked, "", drydockMethods);
}

export function checkedPlan(plan: Plan): Plan {
  return withCheckedCalls(plan, "plan.", planMethods);
}

export function checkedResource(resource: ResourceHandle): ResourceHandle {
  return withCheckedCalls(resource, "resource.", resourceMethods);
}

export function checkedSweeps(sweeps: PlanSweeps): PlanSweeps {
  return withCheckedCalls(sweeps, "sandboxes.", sweepMethods);
}

export function checkedWorkspace(workspace: Workspace): Workspace {
  return withCheckedCalls(workspace, "workspace.", workspaceMethods);
}
