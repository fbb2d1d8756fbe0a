import type { DiffStats } from "../../core/change.ts";

export interface ApproveOptions {
  /** The digest of the diff that the person saw. */
  readonly digest: string;
  /** Files that may land although tools run them by themselves, as for an apply. */
  readonly allow?: readonly string[];
  /** The way in which the person gave the approval, for the log. Default: "library". */
  readonly via?: string;
}

/** The word of a person that exactly the changes with this digest may land. */
export interface Approval {
  readonly planId: string;
  readonly digest: string;
  readonly allow: readonly string[];
  readonly via: string;
  /** "name@host" of the user. */
  readonly actor: string;
  /** UTC, ISO 8601. */
  readonly at: string;
}

/** A review that a person is asked for, or the last verdict of one. */
export const REVIEW_STATES = ["asked", "approved", "changes asked"] as const;
export type ReviewState = (typeof REVIEW_STATES)[number];

export interface ReviewRequestOptions {
  /** What the work is, for the person who reviews it. */
  readonly message?: string;
}

/** What a person is asked to review, and the last approval, which counts only for its own digest. */
export interface ReviewRequest {
  readonly planId: string;
  readonly digest: string;
  readonly stats: DiffStats;
  readonly approval?: Approval;
}
