import type { EventDetails, PlanLogEntry } from "../../core/values/plan-events.ts";
import type { HistoryEntry } from "../../store/store.ts";
import { unpackDigests } from "./change-digests.ts";
import type { PlanReview, ReviewComment, ReviewedChange, ReviewVerdict, Vote } from "./review-views.ts";

/**
 * What was said about a plan, folded from its history. Nothing else holds it, so it survives what the history
 * survives, every process sees the same, and the log tells all of it later.
 *
 * A vote, and a look, is about digests of single changes. What has the same digest again has its votes again.
 */
export class ReviewRecord {
  readonly #votes = new Map<string, Vote>();
  /** By change, then by hunk. */
  readonly #hunks = new Map<string, Map<string, Vote>>();
  /** By actor. */
  readonly #seen = new Map<string, Set<string>>();
  readonly #comments = new Map<string, ReviewComment>();
  #asked: PlanReview["asked"];
  #verdict: ReviewVerdict | undefined;

  constructor(history: readonly HistoryEntry[]) {
    for (const entry of history) this.#fold(entry as PlanLogEntry);
  }

  /** What this actor's page shows of one change beside its facts. */
  of(digest: string, actor: string): Pick<ReviewedChange, "vote" | "hunks" | "seen"> {
    const vote = this.#votes.get(digest);
    const hunks = this.#hunks.get(digest);
    return {
      ...(vote !== undefined && { vote }),
      ...(hunks !== undefined && hunks.size > 0 && { hunks: Object.fromEntries(hunks) }),
      seen: this.#seen.get(actor)?.has(digest) === true,
    };
  }

  get comments(): readonly ReviewComment[] {
    return [...this.#comments.values()];
  }

  comment(id: string): ReviewComment | undefined {
    return this.#comments.get(id);
  }

  get said(): Omit<PlanReview, "planId"> {
    return {
      ...(this.#asked !== undefined && { asked: this.#asked }),
      ...(this.#verdict !== undefined && { verdict: this.#verdict }),
      comments: this.comments,
    };
  }

  #fold({ event, details, actor, at }: PlanLogEntry): void {
    switch (event) {
      case "voted":
        this.#vote(details);
        break;
      case "looked":
        this.#look(actor, details.digests);
        break;
      case "commented": {
        const { comment: id, ...said } = details;
        this.#comments.set(id, { id, ...said, actor, at });
        break;
      }
      case "comment edited":
        this.#edit(details, { actor, at });
        break;
      case "comment removed":
        this.#comments.delete(details.comment);
        break;
      case "review asked":
        this.#asked = { ...details, actor, at };
        break;
      case "approved":
        this.#verdict = { verdict: "approved", digest: details.digest, via: details.via, actor, at };
        break;
      case "changes asked":
        this.#verdict = { verdict: "changes asked", ...details, actor, at };
        break;
      default:
    }
  }

  /** A vote on a whole change takes the place of those on its hunks. */
  #vote({ vote, digests, hunks = [] }: EventDetails["voted"]): void {
    for (const digest of unpackDigests(digests)) {
      this.#hunks.delete(digest);
      give(this.#votes, digest, vote);
    }
    for (const { change, hunk } of hunks) {
      const ofChange = this.#hunks.get(change) ?? new Map<string, Vote>();
      this.#hunks.set(change, ofChange);
      give(ofChange, hunk, vote);
    }
  }

  #look(actor: string, digests: string): void {
    const seen = this.#seen.get(actor) ?? new Set();
    for (const digest of unpackDigests(digests)) seen.add(digest);
    this.#seen.set(actor, seen);
  }

  #edit({ comment, text, resolved }: EventDetails["comment edited"], by: NonNullable<Resolved>): void {
    const known = this.#comments.get(comment);
    if (known === undefined) return;
    const { resolved: earlier, ...rest } = known;
    const now = resolved === undefined ? earlier : resolved ? by : undefined;
    this.#comments.set(comment, {
      ...rest,
      ...(text !== undefined && { text, editedAt: by.at }),
      ...(now !== undefined && { resolved: now }),
    });
  }
}

type Resolved = ReviewComment["resolved"];

function give(votes: Map<string, Vote>, key: string, vote: Vote | "none"): void {
  if (vote === "none") votes.delete(key);
  else votes.set(key, vote);
}
