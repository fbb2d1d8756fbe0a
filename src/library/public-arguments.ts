import type { Readable } from "node:stream";
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
import type { Limits } from "../core/values/limits.ts";
import type {
  ApplyOptions,
  ApproveOptions,
  CheckpointOptions,
  CleanupOptions,
  CreatePlanOptions,
  DiffOptions,
  ListPlansOptions,
  PatchOptions,
  ResourceRequest,
  ReviewRequestOptions,
} from "../plans/plan-views.ts";
import type { CaptureRequest } from "../run/capture.ts";
import type { ExecRequest } from "../run/exec.ts";
import type { RunApplyOptions, RunDecision, RunRequest } from "../run/run-once.ts";
import type { SpawnRequest } from "../run/spawn.ts";
import type { CheckRequest } from "../testing/check.ts";
import type { Cleanup, Drydock, DrydockOptions, ResourceTypeList, Strategies } from "./drydock.ts";
import type { Plan, PlanSweeps, Plans, ResourceHandle } from "./plan.ts";

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

const createPlanOptions = fields<CreatePlanOptions>({
  resources: list(resourceRequest),
  name: optional(text),
  labels: optional(record(text)),
  readOnly: optional(truth),
  allowIrreversible: optional(truth),
  withoutPaths: optional(truth),
});

const wantedLabel: Reader<string | true> = (value, at) => (value === true ? true : text(value, at));

const isReadable = (value: unknown): value is Readable =>
  typeof value === "object" && value !== null && typeof Reflect.get(value, "pipe") === "function";

/** The content of a file, or a stream of it. */
const contentOrStream: Reader<string | Uint8Array | Readable> = (value, at) =>
  isReadable(value) ? value : content(value, at);

const commandFields = {
  command: list(path),
  cwd: optional(path),
  environment: optional(record(path)),
  signal: optional(signal),
  network: optional(truth),
  strict: optional(truth),
  limits: optional(
    fields<Limits>({
      processes: optional(amount),
      memory: optional(amount),
      scratch: optional(amount),
      time: optional(amount),
    }),
  ),
  checkpoint: optional(truth),
  onStart: optional(callback<NonNullable<ExecRequest["onStart"]>>()),
};

const execFields = { ...commandFields, stdout: optional(oneOf("inherit", "stderr")) };

const captureRequest = fields<CaptureRequest>({
  ...commandFields,
  input: optional(contentOrStream),
  maxOutputBytes: optional(amount),
});

const windowSize = fields<NonNullable<SpawnRequest["terminal"]>>({ rows: amount, columns: amount });
const spawnRequest = fields<SpawnRequest>({ ...commandFields, terminal: optional(windowSize) });

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

const diffFields = { paths: optional(list(path)), allow: optional(list(text)) };
const onChange = optional(callback<NonNullable<DiffOptions["onChange"]>>());
const onDiff = optional(callback<NonNullable<PatchOptions["onDiff"]>>());
const applyOptions = fields<ApplyOptions>({
  message: optional(text),
  digest: optional(text),
  approved: optional(truth),
  only: optional(list(path)),
  allow: optional(list(text)),
  dryRun: optional(truth),
  allowIrreversible: optional(truth),
  afterRestart: optional(truth),
});

const approveOptions = fields<ApproveOptions>({
  digest: text,
  allow: optional(list(text)),
  via: optional(text),
});

const resourceMethods: CheckedMethods<ResourceHandle> = {
  path: [],
  // The strategies refuse bad paths inside a resource, with an error of their own.
  read: [["path", text]],
  write: [
    ["path", text],
    ["content", content],
  ],
  sql: [["script", text]],
  sandbox: [],
};

const planMethods: CheckedMethods<Plan> = {
  ...resourceMethods,
  resource: [["name", text]],
  show: [],
  exec: [["request", fields<ExecRequest>(execFields)]],
  run: [["request", captureRequest]],
  spawn: [["request", spawnRequest]],
  diff: [["options", optional(fields<DiffOptions>({ ...diffFields, onChange }))]],
  patch: [["options", optional(fields<PatchOptions>({ ...diffFields, onDiff }))]],
  apply: [["options", optional(applyOptions)]],
  approve: [["options", approveOptions]],
  requestReview: [["options", optional(fields<ReviewRequestOptions>({ message: optional(text) }))]],
  approval: [],
  undo: [],
  rollback: [],
  cancel: [],
  checkpoint: [["options", optional(fields<CheckpointOptions>({ label: optional(text) }))]],
  checkpoints: [],
  restore: [["checkpoint", text]],
  log: [],
  settle: [["how", oneOf("commit", "abort")]],
  abandon: [],
};

const sweepMethods: CheckedMethods<PlanSweeps> = { rollback: [], remove: [], removeAbandoned: [] };

const plansMethods: CheckedMethods<Plans> = {
  create: [["options", createPlanOptions]],
  open: [["plan", text]],
  list: [
    [
      "options",
      optional(fields<ListPlansOptions>({ all: optional(truth), labels: optional(record(wantedLabel)) })),
    ],
  ],
};

const cleanupMethods: CheckedMethods<Cleanup> = {
  scan: [
    ["options", optional(fields<Pick<CleanupOptions, "olderThanMs">>({ olderThanMs: optional(amount) }))],
  ],
  purge: [
    [
      "options",
      optional(
        fields<CleanupOptions>({
          olderThanMs: optional(amount),
          dryRun: optional(truth),
          force: optional(truth),
          undoRecords: optional(truth),
        }),
      ),
    ],
  ],
  status: [],
};

const strategiesMethods: CheckedMethods<Strategies> = {
  list: [],
  has: [["name", text]],
  // Registration checks the strategy that it makes.
  register: [["make", callback<Parameters<Strategies["register"]>[0]>()]],
  remove: [["name", text]],
  check: [
    ["strategy", text],
    ["request", optional(fields<CheckRequest>({ resource: optional(path) }))],
  ],
};

const typesMethods: CheckedMethods<ResourceTypeList> = {
  list: [],
  has: [["name", text]],
  get: [["name", text]],
  mayContain: [
    ["parent", text],
    ["child", text],
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
        decide: decider,
        onKept: optional(callback<NonNullable<RunRequest["onKept"]>>()),
      }),
    ],
  ],
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
