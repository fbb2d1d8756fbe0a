import { CHANGE_SIDES } from "../../core/change.ts";
import { PlanStateError, UsageError } from "../../core/errors/errors.ts";
import { displayPath, pathFromBytes } from "../../core/paths/byte-path.ts";
import { isOver, type PlanRecord } from "../../core/plan.ts";
import type { Hunk } from "../../engine/text/hunks.ts";
import type { PlanSession } from "../../sandboxes/access/plan-session.ts";
import { resourceOf } from "../../sandboxes/plan-sandboxes.ts";
import { newId } from "../../system/state/new-id.ts";
import { type DiffPageOptions, diffPage } from "../diff-page.ts";
import type { Plans } from "../plans.ts";
import { type ChangeAddress, type ChangeSideAddress, changeContent } from "./change-content.ts";
import { changeDigest, packDigests } from "./change-digests.ts";
import { hasHunks, hunksOf } from "./change-hunks.ts";
import { type ChangedRowsOptions, type ChangedRowsPage, changedRows } from "./changed-rows.ts";
import { meantChanges } from "./meant-changes.ts";
import { ReviewRecord } from "./review-record.ts";
import type {
  ChangesAskedRequest,
  CommentEdit,
  CommentRequest,
  PlanReview,
  ReviewComment,
  ReviewedChange,
  ReviewedHunk,
  ReviewedHunks,
  ReviewPage,
  ReviewTarget,
  ReviewTargets,
  ReviewVerdict,
  ShownChange,
  TargetCount,
  Vote,
  VoteCount,
  VoteRequest,
} from "./review-views.ts";

const LIBRARY = "library";
/** How many digests one entry of the history holds; a larger vote has several, written together. */
const MOST_DIGESTS = 20_000;
/** How many targets an entry names for those who read the log. */
const MOST_NAMED = 100;
const MOST_COMMENTS = 1000;
const LONGEST_TEXT = 10_000;

/**
 * Reviews: what persons say about the changes of a plan before they land. Everything is an entry of the
 * plan's history (review-record.ts). No claim is needed, so a review goes on while commands work in the plan.
 */
export class PlanReviews {
  readonly #session: PlanSession;
  readonly #plans: Pick<Plans, "diff">;

  constructor(session: PlanSession, plans: Pick<Plans, "diff">) {
    this.#session = session;
    this.#plans = plans;
  }

  /** What was said about the plan. */
  async show(plan: string | undefined): Promise<PlanReview> {
    const { id } = await this.#session.plans.find(plan);
    return { planId: id, ...(await this.#record(id)).said };
  }

  /** A page of the changes, with what was said about each. */
  async changes(plan: string | undefined, options: DiffPageOptions = {}): Promise<ReviewPage> {
    const { id } = await this.#session.plans.find(plan);
    const record = await this.#record(id);
    const { actor } = this.#session.history;
    const votes = { approved: 0, rejected: 0, partly: 0, open: 0 };
    const changes: ReviewedChange[] = [];
    let unseen = 0;
    const page = await diffPage(this.#plans, id, options, (change, isShown) => {
      const digest = changeDigest(change);
      const said = record.of(digest, actor);
      votes[countedAs(said)] += 1;
      if (!said.seen) unseen += 1;
      if (isShown) changes.push({ ...change, digest, ...said });
    });
    return { ...page, changes, votes, unseen };
  }

  /** The content of a file before or after its change. */
  async content(plan: string | undefined, place: ChangeSideAddress): Promise<Uint8Array> {
    const { plans, sandboxes } = this.#session;
    return await changeContent(await plans.find(plan), sandboxes, place);
  }

  /** The hunks of the change of a text file; none if the change has no hunks. */
  async hunks(plan: string | undefined, { resource, path }: ChangeAddress): Promise<ReviewedHunks> {
    const { plans, sandboxes, history } = this.#session;
    const found = await plans.find(plan);
    const name = resourceOf(found, resource).resource.name;
    const { changes } = await this.#plans.diff(found.id, { paths: [path] });
    const change = changes.find((each) => each.resource === name && each.path === path);
    if (change === undefined) throw notChanged(path);
    const digest = changeDigest(change);
    const { vote, hunks: votes = {} } = (await this.#record(found.id)).of(digest, history.actor);
    const hunks = hasHunks(change) ? await hunksOf(sandboxes, found, change) : [];
    return { planId: found.id, digest, hunks: hunks.map((hunk) => shownHunk(hunk, votes[hunk.id] ?? vote)) };
  }

  /**
   * One change of a page as a person sees it. Reads only that change, however many the plan has, and refuses
   * one that has moved since the page.
   */
  async shown(plan: string | undefined, change: ReviewedChange): Promise<ShownChange> {
    const { plans, sandboxes } = this.#session;
    const found = await plans.find(plan);
    const { resource, path, kind, vote, hunks: votes = {} } = change;
    for (const side of kind === "file" ? CHANGE_SIDES : []) {
      const digest = change[side]?.digest;
      if (digest !== undefined) await changeContent(found, sandboxes, { resource, path, side, digest });
    }
    const hunks = hasHunks(change) ? await hunksOf(sandboxes, found, change) : [];
    const { patchOf, presentSides } = await import("../plan-patch.ts");
    const pieces = patchOf(
      found,
      presentSides(found, sandboxes),
      { changes: [change], renames: [] },
      { onlyText: true },
    );
    return {
      hunks: hunks.map((hunk) => shownHunk(hunk, votes[hunk.id] ?? vote)),
      patch: (await Array.fromAsync(pieces)).join(""),
    };
  }

  /** A page of the changed rows and definitions of a database. */
  async rows(plan: string | undefined, options: ChangedRowsOptions): Promise<ChangedRowsPage> {
    const { plans, sandboxes } = this.#session;
    return await changedRows(await plans.find(plan), sandboxes, options);
  }

  /** Approves or rejects changes, or takes that back. */
  async vote(plan: string | undefined, { vote, ...meant }: VoteRequest): Promise<TargetCount> {
    const found = await this.#reviewable(plan);
    const { digests, hunks } = await meantChanges(found, this.#session.sandboxes, meant);
    const { via = LIBRARY, targets } = meant;
    const of = targets.slice(0, MOST_NAMED).map(nameOf);
    const { history, store } = this.#session;
    const entries = inEntries([...digests]).map((some, at) =>
      history.entry(found.id, "voted", {
        ...{ vote, of, changes: some.length, digests: packDigests(some), via },
        ...(at === 0 && hunks.length > 0 && { hunks }),
      }),
    );
    await store.write(entries, "ordered");
    return { planId: found.id, changes: digests.size + hunks.length };
  }

  /** Records that this user has looked at changes. */
  async look(plan: string | undefined, meant: ReviewTargets): Promise<TargetCount> {
    const found = await this.#reviewable(plan);
    const { digests } = await meantChanges(found, this.#session.sandboxes, meant);
    const { history, store } = this.#session;
    const record = await this.#record(found.id);
    const fresh = [...digests].filter((digest) => !record.of(digest, history.actor).seen);
    const { via = LIBRARY } = meant;
    const entries = inEntries(fresh)
      .filter(({ length }) => length > 0)
      .map((some) =>
        history.entry(found.id, "looked", { changes: some.length, digests: packDigests(some), via }),
      );
    if (entries.length > 0) await store.write(entries, "ordered");
    return { planId: found.id, changes: fresh.length };
  }

  /** Says something about a line, a change, or the plan. */
  async comment(
    plan: string | undefined,
    { via = LIBRARY, ...said }: CommentRequest,
  ): Promise<ReviewComment> {
    const { id: planId } = await this.#session.plans.find(plan);
    assertText(said.text);
    if ((await this.#record(planId)).comments.length >= MOST_COMMENTS)
      throw new UsageError(`The plan has ${MOST_COMMENTS} comments already.`, {
        hint: "Remove some that are settled.",
        code: "TOO_LARGE",
      });
    const comment = newId();
    await this.#session.history.note(planId, "commented", { comment, ...said, via });
    return await this.#comment(planId, comment);
  }

  /** Says a comment in other words, or settles it. */
  async editComment(
    plan: string | undefined,
    comment: string,
    { via = LIBRARY, ...edit }: CommentEdit,
  ): Promise<ReviewComment> {
    const { id: planId } = await this.#session.plans.find(plan);
    if (edit.text !== undefined) assertText(edit.text);
    await this.#comment(planId, comment);
    await this.#session.history.note(planId, "comment edited", { comment, ...edit, via });
    return await this.#comment(planId, comment);
  }

  async removeComment(plan: string | undefined, comment: string, via: string = LIBRARY): Promise<void> {
    const { id: planId } = await this.#session.plans.find(plan);
    await this.#comment(planId, comment);
    await this.#session.history.note(planId, "comment removed", { comment, via });
  }

  /** Records that a person wants other changes than those of this digest. */
  async askForChanges(
    plan: string | undefined,
    { digest, message, via = LIBRARY }: ChangesAskedRequest,
  ): Promise<ReviewVerdict> {
    const { id } = await this.#reviewable(plan);
    if (message !== undefined) assertText(message);
    const asked = { digest, via, ...(message !== undefined && { message }) };
    await this.#session.history.note(id, "changes asked", asked);
    return (await this.#record(id)).said.verdict as ReviewVerdict;
  }

  async #record(planId: string): Promise<ReviewRecord> {
    return new ReviewRecord(await this.#session.store.history(planId));
  }

  async #comment(planId: string, id: string): Promise<ReviewComment> {
    const found = (await this.#record(planId)).comment(id);
    if (found !== undefined) return found;
    throw new UsageError("The plan has no such comment.", {
      hint: "It may have been removed.",
      code: "UNKNOWN_COMMENT",
    });
  }

  async #reviewable(plan: string | undefined): Promise<PlanRecord> {
    const found = await this.#session.plans.find(plan);
    if (isOver(found)) throw new PlanStateError(found, "open");
    return found;
  }
}

function shownHunk({ lines, ...hunk }: Hunk, vote: Vote | undefined): ReviewedHunk {
  const shown = lines.map((line) => pathFromBytes(Buffer.from(line, "latin1")));
  return { ...hunk, lines: shown, ...(vote !== undefined && { vote }) };
}

function notChanged(path: string): UsageError {
  return new UsageError(`The plan does not change ${displayPath(path)}.`, {
    hint: "See the diff of the plan.",
    code: "NO_MATCH",
  });
}

function countedAs({ vote, hunks }: Pick<ReviewedChange, "vote" | "hunks">): keyof VoteCount {
  const votes = new Set([vote, ...Object.values(hunks ?? {})]);
  if (votes.size > 1) return "partly";
  return vote ?? "open";
}

/** At least one entry, also of nothing. */
function inEntries(digests: readonly string[]): string[][] {
  const entries: string[][] = [digests.slice(0, MOST_DIGESTS)];
  for (let at = MOST_DIGESTS; at < digests.length; at += MOST_DIGESTS)
    entries.push(digests.slice(at, at + MOST_DIGESTS));
  return entries;
}

function nameOf({ resource = "*", path = ".", hunk }: ReviewTarget): string {
  return `${resource}:${path}${hunk === undefined ? "" : ` (hunk ${hunk})`}`;
}

function assertText(text: string): void {
  if (text.trim() !== "" && text.length <= LONGEST_TEXT) return;
  throw new UsageError(`A comment has between one and ${LONGEST_TEXT} characters.`, {
    hint: "Write another text.",
    code: "BAD_ARGUMENT",
  });
}
