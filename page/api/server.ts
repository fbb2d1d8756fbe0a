import { call, encoded, eventsIn, get, keepKey, post, postFollowed, query, tell } from "./calls.ts";
import type {
  Change,
  ChangedRows,
  Checkpoint,
  Comment,
  Diff,
  Hunks,
  Landing,
  LogEntry,
  Plan,
  PlanEvent,
  Progress,
  Resolution,
  Resolved,
  Review,
  ReviewSession,
  RolledBack,
  SavedChange,
  SavedDiff,
  Scratch,
  Update,
  Vote,
} from "./types.ts";

/** Everything that the page asks of its server. */

/** How many changes the page asks for at once. Many, because the server compares everything for each page. */
const PAGE = 100_000;

const at = (plan: string) => `/v1/plans/${encoded(plan)}`;

/** Trades the token of the address for access; without one, this browser has it already. */
export async function openSession(): Promise<ReviewSession> {
  const [, token] = /^#token=([\w-]+)$/.exec(location.hash) ?? [];
  if (token === undefined) return await get("/session");
  const { key, ...session } = await post<ReviewSession & { readonly key: string }>("/session", { token });
  keepKey(key);
  history.replaceState(null, "", "/");
  return session;
}

export async function listPlans(): Promise<readonly Plan[]> {
  return (await get<{ readonly plans: readonly Plan[] }>("/v1/plans?all=true")).plans;
}

export async function showPlan(plan: string, signal: AbortSignal): Promise<Plan> {
  return await get(at(plan), signal);
}

/** The changes of a plan, page by page. Throws STALE_CURSOR if they move on the way. */
export async function* changesOf(plan: string, signal: AbortSignal): AsyncGenerator<Diff> {
  let cursor: string | undefined;
  do {
    const page: Diff = await get(`${at(plan)}/review/changes${query({ cursor, limit: PAGE })}`, signal);
    yield page;
    cursor = page.next;
  } while (cursor !== undefined);
}

/** The patch of one change. */
export async function patchOf(
  plan: string,
  { resource, path }: Change,
  signal: AbortSignal,
): Promise<Uint8Array> {
  const paths = path === "." ? resource : `${resource}/${path}`;
  return await bytesOf(`${at(plan)}/patch${query({ paths })}`, signal);
}

/** The hunks of one change; none if it has none that can land alone. */
export async function hunksOf(plan: string, { resource, path }: Change, signal: AbortSignal): Promise<Hunks> {
  return await get(`${at(plan)}/review/hunks${query({ resource, path })}`, signal);
}

/** The first bytes of one side of a change. Refused if that side has moved since the change was read. */
export async function contentOf(
  plan: string,
  { resource, path, ...change }: Change,
  {
    side,
    most,
    signal,
  }: { readonly side: "before" | "after"; readonly most: number; readonly signal: AbortSignal },
): Promise<Uint8Array<ArrayBuffer>> {
  const digest = change[side]?.digest;
  const where = `${at(plan)}/review/content${query({ resource, path, side, digest })}`;
  // Nothing can be asked of an empty file by a range.
  const headers = change[side]?.size === 0 ? {} : { range: `bytes=0-${most - 1}` };
  const answer = await call("GET", where, { signal, headers });
  return new Uint8Array(await answer.arrayBuffer());
}

/** A page of the changed rows and definitions at a path of a database. */
export async function rowsOf(
  plan: string,
  place: { readonly resource: string; readonly path: string },
  { cursor, signal }: { readonly cursor?: string | undefined; readonly signal?: AbortSignal } = {},
): Promise<ChangedRows> {
  return await get(`${at(plan)}/review/rows${query({ ...place, cursor })}`, signal);
}

async function bytesOf(path: string, signal: AbortSignal): Promise<Uint8Array> {
  return new Uint8Array(await (await call("GET", path, { signal })).arrayBuffer());
}

export async function reviewOf(plan: string, signal?: AbortSignal): Promise<Review> {
  return await get(`${at(plan)}/review`, signal);
}

/** The server takes so many targets at once. */
const MOST_TARGETS = 10_000;

/** Approves or rejects the changes with these digests, or takes that back. */
export async function vote(plan: string, digests: readonly string[], word: Vote | "none"): Promise<void> {
  for (let from = 0; from < digests.length; from += MOST_TARGETS) {
    const targets = digests.slice(from, from + MOST_TARGETS).map((digest) => ({ digest }));
    await tell(`${at(plan)}/review/votes`, { vote: word, targets });
  }
}

/** Approves or rejects hunks of one change, or takes that back. */
export async function voteOnHunks(
  plan: string,
  { resource, path, digest }: Pick<Change, "resource" | "path" | "digest">,
  hunks: readonly string[],
  word: Vote | "none",
): Promise<void> {
  const targets = hunks.map((hunk) => ({ resource, path, digest, hunk }));
  await tell(`${at(plan)}/review/votes`, { vote: word, targets });
}

/** Records that the user has looked at the changes with these digests. Says how many were not seen before. */
export async function look(plan: string, digests: readonly string[]): Promise<number> {
  const targets = digests.map((digest) => ({ digest }));
  const { changes } = await tell<{ readonly changes: number }>(`${at(plan)}/review/looks`, { targets });
  return changes;
}

export type CommentTarget = Pick<Comment, "resource" | "path" | "side" | "line" | "digest">;

export async function comment(plan: string, place: CommentTarget, text: string): Promise<void> {
  await tell(`${at(plan)}/review/comments`, { ...place, text });
}

export async function settle(plan: string, { id, resolved }: Comment): Promise<void> {
  const body = { resolved: resolved === undefined };
  await call("PUT", `${at(plan)}/review/comments/${encoded(id)}`, { body });
}

export async function removeComment(plan: string, { id }: Comment): Promise<void> {
  await call("DELETE", `${at(plan)}/review/comments/${encoded(id)}`);
}

export async function logOf(plan: string): Promise<readonly LogEntry[]> {
  return (await get<{ readonly entries: readonly LogEntry[] }>(`${at(plan)}/log`)).entries;
}

export async function checkpointsOf(plan: string): Promise<readonly Checkpoint[]> {
  return (await get<{ readonly checkpoints: readonly Checkpoint[] }>(`${at(plan)}/checkpoints`)).checkpoints;
}

/** How many changes of a checkpoint the page lists. */
const MOST_SAVED = 1000;

/** What a checkpoint holds, and what changed since. */
export async function savedChanges(plan: string, checkpoint: string): Promise<SavedDiff> {
  return await get(`${at(plan)}/diff${query({ checkpoint, limit: MOST_SAVED })}`);
}

/** One change of a checkpoint, as a patch. */
export async function patchAt(
  plan: string,
  { resource, path }: SavedChange,
  checkpoint: string,
): Promise<string> {
  const paths = path === "." ? resource : `${resource}/${path}`;
  const answer = await call("GET", `${at(plan)}/patch${query({ paths, checkpoint })}`);
  return (await answer.text()).trimEnd();
}

export async function scratchOf(plan: string): Promise<Scratch> {
  return await get(`${at(plan)}/scratch`);
}

export async function restore(plan: string, checkpoint: string): Promise<void> {
  await post(`${at(plan)}/checkpoints/${encoded(checkpoint)}/restore`, {});
}

export async function apply(
  plan: string,
  options: { readonly digest: string; readonly allow: readonly string[]; readonly approvedPart?: true },
  onProgress: (progress: Progress) => void,
): Promise<Landing> {
  return await postFollowed(`${at(plan)}/apply`, options, onProgress);
}

export async function undo(
  plan: string,
  leave: readonly string[],
  onProgress: (progress: Progress) => void,
): Promise<Landing> {
  return await postFollowed(`${at(plan)}/undo`, { leave }, onProgress);
}

/** Takes out of the plan what votes reject. */
export async function takeOutRejected(
  plan: string,
  onProgress: (progress: Progress) => void,
): Promise<RolledBack> {
  return await postFollowed(`${at(plan)}/rollback`, { rejected: true }, onProgress);
}

/** Merges into the plan what other writers changed meanwhile. */
export async function update(plan: string, onProgress: (progress: Progress) => void): Promise<Update> {
  return await postFollowed(`${at(plan)}/update`, {}, onProgress);
}

/** Settles a path that the plan and another writer changed. */
export async function resolve(
  plan: string,
  { resource, path }: Pick<Change, "resource" | "path">,
  how: Resolution,
): Promise<Resolved> {
  return await post(`${at(plan)}/resolve`, { resource, path, how });
}

export type Decision =
  | {
      readonly verdict: "approved";
      readonly plan: string;
      readonly digest: string;
      readonly allow: readonly string[];
      readonly message?: string;
    }
  | {
      readonly verdict: "changes";
      readonly plan: string;
      readonly digest: string;
      readonly message?: string;
    }
  | { readonly verdict: "closed" };

export async function decide(decision: Decision): Promise<void> {
  await post("/decide", decision);
}

/** Tells the server that this window is left. Nothing is heard of it any more. */
export function leave(): void {
  call("POST", "/leave", { keepalive: true }).catch(() => undefined);
}

/** What happens to plans from now on, until the connection ends. Nothing is missed once it is open. */
export async function* events(after: string, onOpen: () => void): AsyncGenerator<PlanEvent> {
  const answer = await call("GET", `/v1/events${query({ after })}`);
  onOpen();
  for await (const { event, data } of eventsIn(answer)) if (event === "plan") yield data as PlanEvent;
}
