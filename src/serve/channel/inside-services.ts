import { UsageError } from "../../core/errors/errors.ts";
import { pathFromBytes } from "../../core/paths/byte-path.ts";
import type { DatabaseValue, StatementResult } from "../../core/values/query.ts";
import type { DiffPage } from "../../plans/diff-page.ts";
import type {
  CheckpointResult,
  CheckpointView,
  DiffOptions,
  PatchOptions,
  PlanChange,
  PlanDiff,
  PlanView,
  RestoreResult,
} from "../../plans/plan-views.ts";
import type { ReviewRequest } from "../../plans/review/approval-views.ts";
import type { PlanReviews } from "../../plans/review/plan-reviews.ts";
import type { ReviewComment, ReviewPage } from "../../plans/review/review-views.ts";
import type { Services } from "../../services.ts";
import { ChannelClient, encoded } from "./channel-client.ts";

const NOTHING = { finished: [], undone: [], cleaned: [], pending: [] };

/**
 * The services as a command inside a plan has them, through its channel: for its own plan, and only what the
 * channel allows. Using anything else is refused.
 */
export function insideServices(socket: string): Services {
  const client = new ChannelClient(socket);
  const own = async (key: string | undefined): Promise<PlanView> => {
    const plan = await client.get<PlanView>("/plan");
    if (key === undefined || key === plan.name || plan.id.startsWith(key.toUpperCase())) return plan;
    throw notAllowed(`A command inside the plan ${plan.name} reaches no other plan.`);
  };
  const diff = async (key: string | undefined, options: DiffOptions = {}): Promise<PlanDiff> => {
    await own(key);
    return await wholeDiff(client, options);
  };
  const reviews = only<PlanReviews>({
    changes: async (key, { limit, ...options } = {}) => {
      await own(key);
      const query = { ...queryOf(options), cursor: options.cursor, limit: limit?.toString() };
      return await client.get<ReviewPage>("/plan/review/changes", query);
    },
    // The channel knows by itself by which way it was said.
    comment: async (key, { via: _, ...said }) => {
      await own(key);
      return await client.post<ReviewComment>("/plan/review/comments", said);
    },
  });
  return only<Services>({
    recovery: NOTHING,
    close: async () => undefined,
    plans: only<Services["plans"]>({
      diff,
      find: async (key) => await own(key),
      show: async (key) => await own(key),
      list: async () => [await own(undefined)],
      patch: async function* (key, options: PatchOptions = {}) {
        options.onDiff?.(await diff(key, wantedOf(options)));
        yield pathFromBytes(await client.bytes("/plan/patch", queryOf(options)));
      },
      requestReview: async (key, { message } = {}) => {
        await own(key);
        return await client.post<ReviewRequest>("/plan/review", message === undefined ? {} : { message });
      },
      sql: async (key, resource, script) => {
        await own(key);
        const body = { script, ...(resource !== undefined && { resource }) };
        const { results } = await client.post<{ results: StatementResult[] }>("/plan/sql", body);
        return results.map((result) => ({
          ...result,
          rows: result.rows.map((row) => row.map(databaseValue)),
        }));
      },
    }),
    reviews: async () => reviews,
    checkpoints: only<Services["checkpoints"]>({
      checkpoint: async (key, options = {}) => {
        await own(key);
        return await client.post<CheckpointResult>("/plan/checkpoints", options);
      },
      list: async (key) => {
        await own(key);
        return (await client.get<{ checkpoints: CheckpointView[] }>("/plan/checkpoints")).checkpoints;
      },
      restore: async (key, checkpoint) => {
        await own(key);
        return await client.post<RestoreResult>(`/plan/checkpoints/${encoded(checkpoint)}/restore`, {});
      },
    }),
  });
}

function notAllowed(message: string): UsageError {
  return new UsageError(message, { hint: "Ask the person outside.", code: "NOT_ALLOWED" });
}

/** Refuses what is not there as soon as it is called, or something of it is used. */
function only<T extends object>(allowed: { readonly [name in keyof T]?: T[name] }): T {
  const refuse = (): never => {
    throw notAllowed("A command inside a plan can't do this.");
  };
  const refusing = new Proxy(refuse, { get: refuse });
  return new Proxy(allowed as T, {
    // A promise that resolves with it looks for "then".
    get: (target, name) => (name in target || name === "then" ? Reflect.get(target, name) : refusing),
  });
}

function wantedOf({ paths, checkpoint }: DiffOptions): DiffOptions {
  return { ...(paths !== undefined && { paths }), ...(checkpoint !== undefined && { checkpoint }) };
}

function queryOf({ paths, checkpoint }: DiffOptions) {
  return { paths, checkpoint };
}

/** All pages of the diff, as one. */
async function wholeDiff(client: ChannelClient, options: DiffOptions): Promise<PlanDiff> {
  const changes: PlanChange[] = [];
  for (let cursor: string | undefined; ; ) {
    const page: DiffPage = await client.get("/plan/diff", { ...queryOf(options), cursor });
    if (options.onChange === undefined) changes.push(...page.changes);
    else for (const change of page.changes) options.onChange(change);
    const { next, ...diff } = page;
    if (next === undefined) return { ...diff, changes };
    cursor = next;
  }
}

function databaseValue(value: unknown): DatabaseValue {
  const isBytes = typeof value === "object" && value !== null && "base64" in value;
  return isBytes ? Buffer.from(String(value.base64), "base64") : (value as DatabaseValue);
}
