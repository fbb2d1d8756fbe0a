import type { TakeChange } from "../../core/change.ts";
import type { CheckpointRecord } from "../../core/checkpoint.ts";
import type { PlanRecord } from "../../core/plan.ts";
import type { LandingWords } from "../../core/self-running/protected-paths.ts";
import type { PatchSources } from "../../engine/show/file-patch.ts";
import type { PlanSession } from "../../sandboxes/access/plan-session.ts";
import type { UsableSandbox } from "../../sandboxes/plan-sandboxes.ts";
import { eachChange, isWanted } from "../plan-changes.ts";
import { diffOf } from "../plan-diff.ts";
import type { DiffOptions, PlanChange, PlanDiff, SavedView, SinceChange } from "../plan-views.ts";
import { changeDigest } from "../review/change-digests.ts";
import { checkpointView, findCheckpoint } from "./find-checkpoint.ts";

/** The most changes that are listed of what changed since. All are counted. */
const MOST_SINCE = 1000;

/** What a checkpoint of a plan holds, without a restore. */
export class CheckpointDiff {
  readonly #session: PlanSession;
  readonly #plan: PlanRecord;
  readonly #checkpoint: CheckpointRecord;

  private constructor(session: PlanSession, plan: PlanRecord, checkpoint: CheckpointRecord) {
    this.#session = session;
    this.#plan = plan;
    this.#checkpoint = checkpoint;
  }

  /** Finds the checkpoint by its id, a unique prefix of it, or its label. */
  static async of(session: PlanSession, plan: PlanRecord, key: string): Promise<CheckpointDiff> {
    return new CheckpointDiff(session, plan, await findCheckpoint(session, plan, key));
  }

  /** The diff that the plan had then, with what changed since. */
  async diff(words: LandingWords, options: DiffOptions): Promise<PlanDiff> {
    const then = new Map<string, PlanChange>();
    const changes: PlanChange[] = [];
    const take = options.onChange ?? ((change: PlanChange) => changes.push(change));
    const onChange = (change: PlanChange) => {
      then.set(placeOf(change), change);
      take(change);
    };
    const unlisted: string[] = [];
    const changesOf = async (resource: string, takeOne: TakeChange) => {
      const { record, strategy, dataId } = await this.#saved(resource);
      const found = dataId === undefined ? undefined : await strategy.saved(record.ref, dataId);
      if (found === undefined) unlisted.push(resource);
      found?.forEach(takeOne);
    };
    const diff = await diffOf(this.#plan, words, { ...options, onChange }, changesOf);
    const since = await this.#since(words, then, (change) => {
      return isWanted(change, options.paths) && !unlisted.includes(change.resource);
    });
    return { ...diff, changes, saved: { checkpoint: checkpointView(this.#checkpoint), unlisted, since } };
  }

  /** The content of both sides of its changes. */
  async sidesOf(resource: string): Promise<PatchSources> {
    const { record, strategy, dataId } = await this.#saved(resource);
    return {
      before: (path) => strategy.readOriginal(record.ref, path),
      after: async (path) =>
        dataId === undefined ? undefined : await strategy.readSaved(record.ref, path, dataId),
    };
  }

  /** Compares with the present. A change is the same if all facts of both sides are. */
  async #since(
    words: LandingWords,
    then: ReadonlyMap<string, PlanChange>,
    isWanted: (change: PlanChange) => boolean,
  ): Promise<SavedView["since"]> {
    const counts = { new: 0, changed: 0, gone: 0 };
    const changes: SinceChange[] = [];
    const note = ({ resource, path, kind }: PlanChange, since: SinceChange["since"]) => {
      counts[since] += 1;
      if (changes.length < MOST_SINCE) changes.push({ resource, path, kind, since });
    };
    const gone = new Map(then);
    await eachChange(this.#plan, this.#session.sandboxes, words, (change) => {
      if (!isWanted(change)) return;
      const place = placeOf(change);
      const earlier = then.get(place);
      gone.delete(place);
      if (earlier === undefined) note(change, "new");
      else if (changeDigest(earlier) !== changeDigest(change)) note(change, "changed");
    });
    for (const change of gone.values()) note(change, "gone");
    return { ...counts, changes };
  }

  async #saved(resource: string): Promise<UsableSandbox & { readonly dataId: string | undefined }> {
    const sandbox = await this.#session.sandboxes.usable(this.#plan, resource, "look");
    const { sandboxId } = sandbox.record.ref;
    const part = this.#checkpoint.parts.find((each) => each.sandboxId === sandboxId);
    return { ...sandbox, dataId: part?.dataId };
  }
}

/** A trigger may have the name of its table. */
function placeOf({ resource, path, kind }: PlanChange): string {
  return JSON.stringify([resource, path, kind === "object"]);
}
