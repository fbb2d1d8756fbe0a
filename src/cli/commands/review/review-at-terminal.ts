import { DrydockError, UsageError } from "../../../core/errors/errors.ts";
import type { PlanReviews } from "../../../plans/review/plan-reviews.ts";
import type { ReviewedChange, ReviewedHunk, ShownChange, Vote } from "../../../plans/review/review-views.ts";
import type { ReviewVerdict } from "../../../serve/review/review-end.ts";
import type { Services } from "../../../services.ts";
import type { CommandContext } from "../../command-context.ts";
import { askToAllow, canAsk } from "../../options/allow-option.ts";
import { terminalPatch } from "../../render/diff/patch-line.ts";
import { placeOf } from "../../render/plan/attention-line.ts";
import { harmless } from "../../terminal/printable.ts";
import { ask } from "../../terminal/question.ts";
import { everyChange } from "./every-change.ts";

const VIA = "terminal";
/** What a file fails with that was changed or removed since it was listed. */
const MOVED: readonly string[] = ["DIGEST_DIFFERS", "NO_SUCH_FILE"];
const HELP = [
  "y  approve this",
  "n  reject this",
  "a  approve this and the rest of the file",
  "d  reject this and the rest of the file",
  "s  skip this, without a vote",
  "c  comment on it",
  "q  leave the rest without a vote",
];

/** What the user is asked about: a change, or one hunk of it. */
interface Item {
  readonly change: ReviewedChange;
  readonly hunk?: ReviewedHunk;
  /** The change as a patch, where it is shown as a whole. */
  readonly patch?: string;
}

type Answer = "y" | "n" | "a" | "d" | "s" | "q";

/**
 * A review at the terminal: change by change and hunk by hunk, like `git add -p`. Each answer is recorded at
 * once, so a review that is broken off goes on where it was: what has a vote is not asked again.
 */
export class TerminalReview {
  readonly #context: CommandContext;
  readonly #services: Services;
  readonly #reviews: PlanReviews;
  readonly #plan: { readonly id: string; readonly name: string };

  private constructor(context: CommandContext, services: Services, reviews: PlanReviews, plan: PlanName) {
    this.#context = context;
    this.#services = services;
    this.#reviews = reviews;
    this.#plan = plan;
  }

  static async run(
    context: CommandContext,
    services: Services,
    plan: string | undefined,
  ): Promise<ReviewVerdict> {
    if (!canAsk(context))
      throw new UsageError("A review with --tty needs a terminal.", {
        hint: "Without one, use 'drydock review', or 'drydock approve --digest'.",
      });
    const found = await services.plans.find(plan);
    return await new TerminalReview(context, services, await services.reviews(), found).#run();
  }

  async #run(): Promise<ReviewVerdict> {
    for (const change of await this.#open()) if ((await this.#ofChange(change)) === "q") break;
    const { digest, votes } = await this.#reviews.changes(this.#plan.id, { limit: 1 });
    const { approved, rejected, partly, open } = votes;
    this.#say(`${approved} approved, ${rejected} rejected, ${partly} in part, ${open} without a vote.`);
    const isAll = rejected + partly + open === 0;
    return (isAll && (await this.#approve(digest))) || (await this.#askForChanges(digest));
  }

  /** The changes without a vote. */
  async #open(): Promise<readonly ReviewedChange[]> {
    const all = await Array.fromAsync(everyChange(this.#reviews, this.#plan.id));
    return all.filter(({ vote }) => vote === undefined);
  }

  async #ofChange(change: ReviewedChange): Promise<"q" | undefined> {
    const { resource, path, digest } = change;
    const shown = await this.#shown(change);
    if (shown === undefined) {
      this.#say(`${placeOf(resource, path)} has changed meanwhile. Review the plan again for it.`);
      return undefined;
    }
    const { hunks, patch } = shown;
    await this.#reviews.look(this.#plan.id, { targets: [{ resource, path, digest }], via: VIA });
    if (hunks.length <= 1) return await this.#ask([{ change, patch }], new Map());
    const votes = new Map(hunks.map(({ id, vote }) => [id, vote]));
    const end = await this.#ask(
      hunks.map((hunk) => ({ change, hunk })),
      votes,
    );
    // Where all hunks have one vote, the change has it as a whole: with its mode, and all else that it is.
    const [vote, ...others] = new Set(votes.values());
    if (vote !== undefined && others.length === 0) await this.#vote(vote, [{ change }]);
    return end;
  }

  /** Asks about each of them that has no vote, and notes in `votes` what hunks get. */
  async #ask(items: readonly Item[], votes: Map<string, Vote | undefined>): Promise<"q" | undefined> {
    for (const [at, item] of items.entries()) {
      if (item.hunk?.vote !== undefined) continue;
      const answer = await this.#answerTo(item, `${at + 1}/${items.length}`);
      if (answer === "q") return "q";
      if (answer === "s") continue;
      const meant = answer === "a" || answer === "d" ? items.slice(at) : [item];
      const vote = answer === "y" || answer === "a" ? "approved" : "rejected";
      await this.#vote(vote, meant);
      for (const { hunk } of meant) if (hunk !== undefined) votes.set(hunk.id, vote);
      if (meant.length > 1) break;
    }
    return undefined;
  }

  /** Undefined if the change has moved since it was listed. */
  async #shown(change: ReviewedChange): Promise<ShownChange | undefined> {
    try {
      return await this.#reviews.shown(this.#plan.id, change);
    } catch (thrown) {
      const isMoved = thrown instanceof DrydockError && MOVED.includes(thrown.code);
      if (!isMoved) throw thrown;
      return undefined;
    }
  }

  async #vote(vote: "approved" | "rejected", items: readonly Item[]): Promise<void> {
    const targets = items.map(({ change: { resource, path, digest }, hunk }) => ({
      ...{ resource, path, digest },
      ...(hunk !== undefined && { hunk: hunk.id }),
    }));
    await this.#reviews.vote(this.#plan.id, { vote, targets, via: VIA });
  }

  async #answerTo(item: Item, place: string): Promise<Answer> {
    this.#show(item);
    const what = item.hunk === undefined ? "this change" : `this hunk (${place})`;
    for (;;) {
      const given = await ask(this.#context, `Approve ${what}? [y,n,a,d,s,c,q,?] `);
      const answer = given?.trim().toLowerCase() ?? "q";
      if (answer === "c") await this.#comment(item);
      else if (isAnswer(answer)) return answer;
      else for (const line of HELP) this.#say(line);
    }
  }

  #show({ change, hunk, patch = "" }: Item): void {
    const { errorStyles: styles } = this.#context.output;
    const { resource, path, operation, kind, warnings = [] } = change;
    this.#say(styles.bold(`${placeOf(resource, path)} (${operation} ${kind})`));
    for (const warning of warnings) this.#say(styles.yellow(harmless(warning)));
    if (hunk !== undefined) {
      const { oldStart, oldLines, newStart, newLines, lines } = hunk;
      const header = `@@ -${oldStart},${oldLines} +${newStart},${newLines} @@`;
      this.#say(terminalPatch([header, ...lines].join("\n"), styles));
    } else if (kind !== "directory" && patch !== "") this.#say(terminalPatch(patch.trimEnd(), styles));
  }

  async #comment({ change: { resource, path, digest }, hunk }: Item): Promise<void> {
    const text = (await ask(this.#context, "Comment: "))?.trim() ?? "";
    if (text === "") return;
    const line = hunk === undefined ? {} : { side: "after" as const, line: Math.max(1, hunk.newStart) };
    await this.#reviews.comment(this.#plan.id, { text, resource, path, digest, ...line, via: VIA });
  }

  /** Approves the plan as a whole, with the user's word on what tools run by themselves. */
  async #approve(digest: string): Promise<ReviewVerdict | undefined> {
    const answer =
      (await ask(this.#context, "Approve the plan as a whole? [y/N] "))?.trim().toLowerCase() ?? "";
    if (!/^y(?:es)?$/.test(answer)) return undefined;
    const { selfRunning } = await this.#services.plans.diff(this.#plan.id, { onChange: () => undefined });
    const files = selfRunning.filter(({ needsWord }) => needsWord);
    const allow = files.length === 0 ? [] : await askToAllow(this.#context, files);
    if (allow === undefined) return undefined;
    await this.#services.plans.approve(this.#plan.id, { digest, allow, via: VIA });
    return await this.#ended("approved", digest);
  }

  async #askForChanges(digest: string): Promise<ReviewVerdict> {
    const message =
      (await ask(this.#context, "Ask for changes? Say which, or nothing to leave: "))?.trim() ?? "";
    if (message === "") return { verdict: "closed" };
    await this.#reviews.askForChanges(this.#plan.id, { digest, message, via: VIA });
    return await this.#ended("changes asked", digest, message);
  }

  async #ended(
    verdict: "approved" | "changes asked",
    digest: string,
    message?: string,
  ): Promise<ReviewVerdict> {
    const { comments } = await this.#reviews.show(this.#plan.id);
    return {
      ...{ verdict, planId: this.#plan.id, planName: this.#plan.name, digest },
      ...(message !== undefined && { message }),
      comments: comments.filter(({ resolved }) => resolved === undefined),
    };
  }

  #say(line: string): void {
    this.#context.output.notice(line);
  }
}

type PlanName = { readonly id: string; readonly name: string };

function isAnswer(text: string): text is Answer {
  return ["y", "n", "a", "d", "s", "q"].includes(text);
}
