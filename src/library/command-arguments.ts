import type { Readable } from "node:stream";
import {
  amount,
  callback,
  content,
  fields,
  list,
  oneOf,
  optional,
  path,
  type Reader,
  record,
  signal,
  truth,
} from "../core/values/arguments.ts";
import type { Limits } from "../core/values/limits.ts";
import { PROFILE_NAMES } from "../core/values/run-policy.ts";
import type { ExecRequest } from "../run/exec.ts";
import type { SpawnRequest } from "../run/spawn.ts";
import type { CallOptions } from "./call-options.ts";

/** The arguments of every call, and of every call that runs a command. See public-arguments.ts. */

export const callFields = {
  signal: optional(signal),
  onProgress: optional(callback<NonNullable<CallOptions["onProgress"]>>()),
};
export const callOptions = ["options", optional(fields<CallOptions>(callFields))] as const;

const isReadable = (value: unknown): value is Readable =>
  typeof value === "object" && value !== null && typeof Reflect.get(value, "pipe") === "function";

/** The content of a file, or a stream of it. */
const contentOrStream: Reader<string | Uint8Array | Readable> = (value, at) =>
  isReadable(value) ? value : content(value, at);

const profileNames = list(oneOf(...PROFILE_NAMES));

/** Names of profiles, or "automatic". */
const profiles: Reader<NonNullable<ExecRequest["profiles"]>> = (value, at) =>
  value === "automatic" ? value : profileNames(value, at);

const allowed = fields<{ readonly allow: readonly string[] }>({ allow: list(path) });

/** Whether there is a network, or what can be reached. */
const network: Reader<NonNullable<ExecRequest["network"]>> = (value, at) => {
  if (typeof value === "boolean") return value;
  return typeof value === "object" ? allowed(value, at) : oneOf("open", "none")(value, at);
};

/** What decides about what a command is allowed. */
const allowedFields = {
  network: optional(network),
  publish: optional(list(path)),
  strict: optional(truth),
  limits: optional(
    fields<Limits>({
      processes: optional(amount),
      memory: optional(amount),
      scratch: optional(amount),
      time: optional(amount),
    }),
  ),
  profiles: optional(profiles),
};

export const explainFields = { ...allowedFields, command: optional(list(path)) };

const commandFields = {
  ...allowedFields,
  command: list(path),
  cwd: optional(path),
  environment: optional(record(path)),
  signal: optional(signal),
  unconfined: optional(truth),
  checkpoint: optional(truth),
  onStart: optional(callback<NonNullable<ExecRequest["onStart"]>>()),
};

export const execFields = { ...commandFields, stdout: optional(oneOf("inherit", "stderr")) };

export const captureFields = {
  ...commandFields,
  input: optional(contentOrStream),
  maxOutputBytes: optional(amount),
};

export const windowSize = fields<NonNullable<SpawnRequest["terminal"]>>({ rows: amount, columns: amount });
export const spawnFields = { ...commandFields, terminal: optional(windowSize) };

const { signal: _, onStart: __, ...startedFields } = spawnFields;
export const detachFields = startedFields;
