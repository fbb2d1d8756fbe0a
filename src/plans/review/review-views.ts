import type { ChangeSide } from "../../core/change.ts";
import type { DiffPage } from "../diff-page.ts";
import type { PlanChange } from "../plan-views.ts";
import type { Approval } from "./approval-views.ts";

/** The word of a reviewer on one change, or on one hunk of it. */
export const VOTES = ["approved", "rejected"] as const;
export type Vote = (typeof VOTES)[number];

/**
 * What a reviewer means: a change with the digest that it was shown with, or one hunk of that; or, without a
 * digest, everything at or below a path. Without a resource, all resources; without a path, all of it.
 */
export interface ReviewTarget {
  readonly resource?: string;
  readonly path?: string;
  /** The digest of the change, as `review.changes` gives it. */
  readonly digest?: string;
  /** The id of a hunk of the change, as `review.hunks` gives it. */
  readonly hunk?: string;
}

/** Which changes a reviewer means, as they were shown. */
export interface ReviewTargets {
  readonly targets: readonly ReviewTarget[];
  /** The digest of the whole diff. Needed by targets without a digest: these mean what that diff showed. */
  readonly digest?: string;
  /** The way in which it was said, for the log. Default: "library". */
  readonly via?: string;
}

export interface VoteRequest extends ReviewTargets {
  /** `none` takes a vote back. */
  readonly vote: Vote | "none";
}

/** How many changes a call was about. */
export interface TargetCount {
  readonly planId: string;
  readonly changes: number;
}

/** Where a comment belongs: to a line, to a change, or, with nothing of all this, to the plan. */
export interface CommentTarget {
  readonly resource?: string;
  readonly path?: string;
  /** Which side of the change `line` is counted on. Default: "after". */
  readonly side?: ChangeSide;
  /** Counted from 1. */
  readonly line?: number;
  /** The digest of the change that the comment was written on. */
  readonly digest?: string;
}

export interface CommentRequest extends CommentTarget {
  readonly text: string;
  readonly via?: string;
}

/** What a comment becomes. Absent fields stay. */
export interface CommentEdit {
  readonly text?: string;
  readonly resolved?: boolean;
  readonly via?: string;
}

export interface ReviewComment extends CommentTarget {
  readonly id: string;
  readonly text: string;
  /** "name@host" of the user. */
  readonly actor: string;
  /** UTC, ISO 8601. */
  readonly at: string;
  readonly via: string;
  readonly editedAt?: string;
  readonly resolved?: { readonly actor: string; readonly at: string };
}

/** The decision of a reviewer on the plan as a whole. It counts only for its digest. */
export interface ReviewVerdict extends Omit<Approval, "planId" | "allow"> {
  readonly verdict: "approved" | "changes asked";
  readonly message?: string;
}

export interface ChangesAskedRequest {
  /** The digest of the diff that the person saw. */
  readonly digest: string;
  readonly message?: string;
  readonly via?: string;
}

/** What was said about a plan so far, from its history alone. */
export interface PlanReview {
  readonly planId: string;
  /** The last request for a review. */
  readonly asked?: {
    readonly digest: string;
    readonly message?: string;
    readonly actor: string;
    readonly at: string;
  };
  /** The last verdict. It is void once a diff gives another digest. */
  readonly verdict?: ReviewVerdict;
  /** Oldest first. */
  readonly comments: readonly ReviewComment[];
}

export interface ReviewedChange extends PlanChange {
  /** Of this change alone: its facts and both sides. A vote binds to it. */
  readonly digest: string;
  readonly vote?: Vote;
  /** The votes on single hunks, by their id. Other hunks have the vote of the change. */
  readonly hunks?: { readonly [hunk: string]: Vote };
  /** Whether this user has looked at the change as it is now. */
  readonly seen: boolean;
}

/** A page of the changes of a plan, with what was said about each; the counts are of all changes. */
export interface ReviewPage extends Omit<DiffPage, "changes"> {
  readonly changes: readonly ReviewedChange[];
  readonly votes: VoteCount;
  readonly unseen: number;
}

export interface VoteCount {
  readonly approved: number;
  readonly rejected: number;
  /** Changes some of whose hunks have another vote than the rest. */
  readonly partly: number;
  /** Changes without any vote. */
  readonly open: number;
}

/** A hunk of the change of a text file. */
export interface ReviewedHunk {
  readonly id: string;
  readonly oldStart: number;
  readonly oldLines: number;
  readonly newStart: number;
  readonly newLines: number;
  /** As in a patch, with a sign before each. Bytes that are not UTF-8 are written as in byte-path.ts. */
  readonly lines: readonly string[];
  readonly vote?: Vote;
}

/** One change as a person sees it. */
export interface ShownChange {
  /** Those of a text file, with the votes that the change came with. */
  readonly hunks: readonly ReviewedHunk[];
  /** The change as unified text. */
  readonly patch: string;
}

/** The hunks of one change, if it has any, with the digest of the change. */
export interface ReviewedHunks {
  readonly planId: string;
  readonly digest: string;
  readonly hunks: readonly ReviewedHunk[];
}
