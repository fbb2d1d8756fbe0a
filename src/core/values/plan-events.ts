import type { CheckResult } from "./checks.ts";
import type { LimitName } from "./limits.ts";
import type { DeniedRequest } from "./run-policy.ts";

/** A part of a plan, and what there is to say about it. */
export type ResourceReport = { readonly resource: string; readonly message: string };

/** A commit or an undo that has ended. */
export type EndedTransaction = {
  /** Its id in the journal. */
  readonly transaction: string;
  readonly message?: string;
  /** The chosen paths of a part, `RESOURCE:PATH` each. */
  readonly only?: readonly string[];
  /** How many changes landed, or came back. */
  readonly changes?: number;
  /** For an undo: the resources that stay as they landed. */
  readonly leaves?: readonly string[];
};

/** A commit or an undo of which nothing remains. */
export type FailedTransaction = EndedTransaction & { readonly failure?: string };

export type CheckpointMark = { readonly checkpoint: string; readonly label?: string };

/**
 * Everything that happens to plans, with its details: the one list of what histories and events hold. Each is
 * written together with the change that it tells of, or right after it.
 */
export type EventDetails = {
  created: { readonly name: string };
  /** Resources joined the plan; or they could not, and nothing of that remains. */
  added: { readonly resource: string };
  "not added": { readonly resource: string };
  "exec started": { readonly exec: string; readonly command: string };
  /** The same for a command that was started detached. */
  detached: { readonly exec: string; readonly command: string };
  /** A command has ended. `exec` is that of its start. */
  executed: {
    readonly exec: string;
    readonly command: string;
    readonly durationMs: number;
    readonly exitCode: number;
    readonly signal?: string;
    readonly aborted?: true;
    readonly limit?: LimitName;
    readonly denied?: readonly DeniedRequest[];
    /**
     * Both of its outputs as they came, of long ones the beginning and the end. Absent: they went straight to
     * the caller's files or pipes, the settings say so, or the command is a check, whose own event has them.
     */
    readonly output?: string;
  };
  /**
   * A detached `run` ended otherwise than its command, mostly because nothing could land: with this exit
   * code, and what it said of that.
   */
  "run ended": { readonly exec: string; readonly exitCode: number; readonly said: string };
  /** One call changed a sandbox. `operation` is write, make folder, remove, rename (`to`) or sql. */
  changed: {
    readonly operation: string;
    readonly resource: string;
    readonly path?: string;
    readonly to?: string;
  };
  /** A checkpoint was saved; automatically, if it names the command that it was saved before. */
  checkpoint: CheckpointMark & { readonly before?: string };
  restored: CheckpointMark;
  "not restored": { readonly checkpoint: string; readonly failure?: string };
  /** What other writers changed meanwhile was merged into the plan, or marked in it. */
  updated: { readonly merged: number; readonly marked: number };
  "not updated": { readonly failure?: string };
  /** A path in conflict was settled by the user's word. */
  resolved: { readonly resource: string; readonly path: string; readonly how: string };
  "rolled back": { readonly [none in never]: never };
  /** Some changes were taken out of the plan, `RESOURCE:PATH` each, some of them. */
  "part rolled back": { readonly only: readonly string[]; readonly changes: number };
  /** A diff was shown with this digest. */
  sealed: { readonly digest: string };
  "review asked": { readonly digest: string; readonly message?: string };
  /** A person approved exactly what has this digest. */
  approved: { readonly digest: string; readonly via: string; readonly allow: readonly string[] };
  /** A person wants other changes than those with this digest. */
  "changes asked": { readonly digest: string; readonly via: string; readonly message?: string };
  /**
   * A person approved or rejected some of the changes, or took that back. `of` names what was meant,
   * `RESOURCE:PATH` each, some of it. `digests` has the digest of each of these changes, 32 bytes each, in
   * Base64; `hunks` single hunks of changes.
   */
  voted: {
    readonly vote: "approved" | "rejected" | "none";
    readonly of: readonly string[];
    readonly changes: number;
    readonly digests: string;
    readonly hunks?: readonly { readonly change: string; readonly hunk: string }[];
    readonly via: string;
  };
  /** A person looked at changes that this person had not seen before. `digests` is that of `voted`. */
  looked: { readonly changes: number; readonly digests: string; readonly via: string };
  commented: {
    readonly comment: string;
    readonly text: string;
    readonly resource?: string;
    readonly path?: string;
    readonly side?: "before" | "after";
    readonly line?: number;
    readonly digest?: string;
    readonly via: string;
  };
  "comment edited": {
    readonly comment: string;
    readonly text?: string;
    readonly resolved?: boolean;
    readonly via: string;
  };
  "comment removed": { readonly comment: string; readonly via: string };
  /** A check has ended, before a landing of what has this digest. */
  checked: CheckResult & { readonly digest: string };
  applied: EndedTransaction;
  "not applied": FailedTransaction;
  "part applied": EndedTransaction;
  undone: EndedTransaction;
  "not undone": FailedTransaction;
  "part undone": EndedTransaction;
  /** The last of several landings was taken back; earlier parts are still there. */
  "last landing undone": EndedTransaction;
  /** Recovery went on with a transaction of a dead process, up to this phase. */
  recovered: { readonly transaction: string; readonly phase: string };
  /**
   * A person has to look at something: it landed, but another writer was there (`landed`), it could not be
   * taken back (`not undone`), or it is unknown whether it landed (`in doubt`).
   */
  "needs attention": {
    readonly transaction: string;
    readonly why: "landed" | "not undone" | "in doubt";
    readonly resources: readonly (ResourceReport & { readonly path?: string; readonly keptAt?: string })[];
  };
  "undo discarded": { readonly transaction: string };
  /** `left`: sandboxes that could not be removed. `by`: not the user, but recovery. */
  cancelled: {
    readonly by?: "recovery";
    readonly left?: readonly (ResourceReport & { readonly places: readonly string[] })[];
  };
  /** A person ended the plan as it was; `resources` says what may remain of each. */
  abandoned: { readonly resources: readonly { readonly resource: string }[] };
  "not removed": { readonly left: readonly ResourceReport[] };
};

export type EventName = keyof EventDetails;

/** The facts of every event. */
export interface EventFacts {
  /** UTC, ISO 8601. */
  readonly at: string;
  /** "name@host" of the user; "name@host (inside)" for a command that asked for it through its channel. */
  readonly actor: string;
  /** The process that did it. */
  readonly pid?: number;
}

/** One step in the life of a plan: `event` says which, and which `details` it has. */
export type PlanLogEntry = {
  readonly [Name in EventName]: EventFacts & {
    readonly event: Name;
    readonly details: Readonly<EventDetails[Name]>;
  };
}[EventName];

/** The same among those of all plans. */
export type PlanEvent = PlanLogEntry & {
  /** Its place in the order of all events: give it as `after` to go on behind it. */
  readonly cursor: string;
  readonly planId: string;
};
