import type { CommitAllOptions } from "./commit/commit-all.ts";
import {
  amount,
  anything,
  bytes,
  callback,
  clock,
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
} from "./core/arguments.ts";
import { type CheckedMethods, withCheckedCalls } from "./core/checked-calls.ts";
import type { Limits } from "./core/limits.ts";
import type { ResourceTypes } from "./core/resource-types.ts";
import type { Drydock, DrydockOptions } from "./drydock.ts";
import type { CheckpointService } from "./plans/checkpoint-service.ts";
import type { CleanupService } from "./plans/cleanup-service.ts";
import type {
  ApplyOptions,
  CleanupOptions,
  CreatePlanOptions,
  DiffOptions,
  PatchOptions,
  ResourceRequest,
} from "./plans/plan-views.ts";
import type { Plans } from "./plans/plans.ts";
import type { SandboxManager } from "./plans/sandbox-manager.ts";
import type { ExecRequest } from "./run/exec.ts";
import type { RunDecision, RunRequest } from "./run/run-once.ts";
import type { Subject } from "./strategies/custom/method-table.ts";
import type { DeclaredStrategy } from "./strategies/registered-strategy.ts";
import type { SandboxStrategyRegistry } from "./strategies/registry.ts";
import type { CheckRequest } from "./testing/check.ts";

/**
 * The public border: what each function of the library may be given. Inside of it the types hold. Everything
 * that `Drydock` has is here, or it does not compile.
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
  readOnly: optional(truth),
  allowIrreversible: optional(truth),
  withoutPaths: optional(truth),
});

const plan = ["plan", optional(text)] as const;
const planId = ["planId", text] as const;
const diffFields = { paths: optional(list(path)), allow: optional(list(text)) };
const onChange = optional(callback<NonNullable<DiffOptions["onChange"]>>());
const diffOptions = ["options", optional(fields<DiffOptions>({ ...diffFields, onChange }))] as const;
const onDiff = optional(callback<NonNullable<PatchOptions["onDiff"]>>());
const patchOptions = ["options", optional(fields<PatchOptions>({ ...diffFields, onDiff }))] as const;

const plansMethods: CheckedMethods<Plans> = {
  create: [["options", createPlanOptions]],
  list: [["options", optional(fields<{ readonly all?: boolean }>({ all: optional(truth) }))]],
  show: [plan],
  path: [plan, ["resource", optional(text)]],
  // What a path inside a resource may be is refused by its own error.
  read: [plan, ["resource", text], ["path", text]],
  write: [plan, ["resource", text], ["path", text], ["bytes", bytes]],
  sql: [plan, ["resource", optional(text)], ["script", text]],
  diff: [plan, diffOptions],
  patch: [plan, patchOptions],
  apply: [
    plan,
    [
      "options",
      optional(
        fields<ApplyOptions>({
          message: optional(text),
          digest: optional(text),
          only: optional(list(path)),
          allow: optional(list(text)),
          dryRun: optional(truth),
          allowIrreversible: optional(truth),
          afterRestart: optional(truth),
        }),
      ),
    ],
  ],
  undo: [plan],
  rollback: [plan],
  cancel: [plan],
};

const checkpointMethods: CheckedMethods<CheckpointService> = {
  checkpoint: [plan, ["options", optional(fields<{ readonly label?: string }>({ label: optional(text) }))]],
  list: [plan],
  restore: [plan, ["checkpoint", text]],
};

const cleanupMethods: CheckedMethods<CleanupService> = {
  scan: [["options", optional(fields<Pick<CleanupOptions, "olderThanMs">>({ olderThanMs: optional(amount) }))]],
  purge: [
    [
      "options",
      optional(
        fields<CleanupOptions>({ olderThanMs: optional(amount), dryRun: optional(truth), force: optional(truth) }),
      ),
    ],
  ],
  status: [],
};

const managerMethods: CheckedMethods<SandboxManager> = {
  getOrCreate: [planId, ["resource", text]],
  commitAll: [
    planId,
    [
      "options",
      optional(
        fields<CommitAllOptions>({
          message: optional(text),
          allowIrreversible: optional(truth),
          afterRestart: optional(truth),
          allow: optional(list(text)),
          dryRun: optional(truth),
          review: optional(callback()),
          choose: optional(callback()),
        }),
      ),
    ],
  ],
  rollbackAll: [planId],
  cleanupAll: [planId],
  cleanupAbandoned: [planId],
};

/** Both come from the library itself. */
const subject = fields<Subject>({ ref: optional(anything()), resource: optional(anything()) });

const declaration = fields<DeclaredStrategy>({
  name: text,
  types: optional(list(text)),
  typeOf: optional(callback()),
  options: anything(),
  load: callback(),
  maker: optional(callback()),
});

const registryMethods: CheckedMethods<SandboxStrategyRegistry> = {
  register: [
    ["strategy", anything()],
    ["custom", anything()],
  ],
  declare: [["declaration", declaration]],
  remove: [["name", text]],
  has: [["name", text]],
  isAtHand: [["name", text]],
  resolve: [
    ["name", text],
    ["subject", optional(subject)],
  ],
  guarded: [["name", text]],
  implementations: [["name", text]],
  maker: [
    ["name", text],
    ["subject", optional(subject)],
  ],
  listAll: [],
};

const typesMethods: CheckedMethods<ResourceTypes> = {
  list: [],
  has: [["name", text]],
  get: [["name", text]],
  mayContain: [
    ["parent", text],
    ["child", text],
  ],
};

const execFields = {
  command: list(path),
  cwd: optional(path),
  network: optional(truth),
  strict: optional(truth),
  limits: optional(
    fields<Limits>({ processes: optional(amount), memory: optional(amount), scratch: optional(amount) }),
  ),
  checkpoint: optional(truth),
  stdout: optional(oneOf("inherit", "stderr")),
  onStart: optional(callback<NonNullable<ExecRequest["onStart"]>>()),
};

/** What is not decided must not land. */
const decider: Reader<RunRequest["decide"]> = (value, at) => {
  const decide = callback<RunRequest["decide"]>()(value, at);
  const word = oneOf("apply", "keep", "discard");
  const withWord = fields<Extract<RunDecision, object>>({
    apply: fields<Pick<ApplyOptions, "allow">>({ allow: optional(list(text)) }),
  });
  return async (finding) => {
    const decision: unknown = await decide(finding);
    return (typeof decision === "object" ? withWord : word)(decision, `what ${at} returns`);
  };
};

const drydockMethods: CheckedMethods<Drydock> = {
  exec: [plan, ["request", fields<ExecRequest>(execFields)]],
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
  settle: [
    ["plan", text],
    ["how", oneOf("commit", "abort")],
  ],
  abandon: [["plan", text]],
  log: [plan],
  doctor: [],
  check: [
    ["strategy", text],
    ["request", optional(fields<CheckRequest>({ resource: optional(path) }))],
  ],
  trust: [["file", path]],
  close: [],
};

/**
 * What `openDrydock` was given. The environment of the process holds nothing but texts, and reading all of it
 * takes a millisecond.
 */
export function drydockOptions(given: unknown, ofProcess: NonNullable<DrydockOptions["environment"]>): DrydockOptions {
  const environment = record(optional(text));
  const options = fields<DrydockOptions>({
    stateDir: optional(path),
    config: optional(path),
    cwd: optional(path),
    environment: optional((value, at) => (value === ofProcess ? ofProcess : environment(value, at))),
    command: optional(text),
    onProgress: optional(callback<NonNullable<DrydockOptions["onProgress"]>>()),
    onNotice: optional(callback<NonNullable<DrydockOptions["onNotice"]>>()),
    signal: optional(signal),
    strategies: optional(list(callback<NonNullable<DrydockOptions["strategies"]>[number]>())),
    now: optional(clock),
    makesRoom: optional(truth),
  });
  return optional(options)(given, "openDrydock: options") ?? {};
}

/** The same Drydock, all of whose functions check what they are given. */
export function withCheckedBorder(drydock: Drydock): Drydock {
  const checked: Drydock = {
    ...drydock,
    plans: withCheckedCalls(drydock.plans, "plans.", plansMethods),
    checkpoints: withCheckedCalls(drydock.checkpoints, "checkpoints.", checkpointMethods),
    cleanup: withCheckedCalls(drydock.cleanup, "cleanup.", cleanupMethods),
    sandboxes: withCheckedCalls(drydock.sandboxes, "sandboxes.", managerMethods),
    registry: withCheckedCalls(drydock.registry, "registry.", registryMethods),
    resourceTypes: withCheckedCalls(drydock.resourceTypes, "resourceTypes.", typesMethods),
  };
  return withCheckedCalls(checked, "", drydockMethods);
}
