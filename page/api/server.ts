import { call, encoded, get, keepKey, post, query } from "./calls.ts";
import type {
  Change,
  Checkpoint,
  Diff,
  Landing,
  LogEntry,
  Plan,
  PlanEvent,
  ReviewSession,
  Scratch,
} from "./types.ts";

/** Everything that the page asks of its server. */

/** How many changes the page asks for at once. */
const PAGE = 10_000;

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

export async function showPlan(plan: string): Promise<Plan> {
  return await get(at(plan));
}

/** The changes of a plan, page by page. Throws STALE_CURSOR if they move on the way. */
export async function* changesOf(plan: string, signal: AbortSignal): AsyncGenerator<Diff> {
  let cursor: string | undefined;
  do {
    const page: Diff = await get(`${at(plan)}/diff${query({ cursor, limit: PAGE })}`, signal);
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

/** The first bytes of a file as it is in the sandbox. */
export async function contentOf(
  plan: string,
  { resource, path }: Change,
  { most, signal }: { readonly most: number; readonly signal: AbortSignal },
): Promise<Uint8Array> {
  const where = `${at(plan)}/file${query({ resource, path })}`;
  const answer = await call("GET", where, { signal, headers: { range: `bytes=0-${most - 1}` } });
  return new Uint8Array(await answer.arrayBuffer());
}

async function bytesOf(path: string, signal: AbortSignal): Promise<Uint8Array> {
  return new Uint8Array(await (await call("GET", path, { signal })).arrayBuffer());
}

export async function logOf(plan: string): Promise<readonly LogEntry[]> {
  return (await get<{ readonly entries: readonly LogEntry[] }>(`${at(plan)}/log`)).entries;
}

export async function checkpointsOf(plan: string): Promise<readonly Checkpoint[]> {
  return (await get<{ readonly checkpoints: readonly Checkpoint[] }>(`${at(plan)}/checkpoints`)).checkpoints;
}

export async function scratchOf(plan: string): Promise<Scratch> {
  return await get(`${at(plan)}/scratch`);
}

export async function restore(plan: string, checkpoint: string): Promise<void> {
  await post(`${at(plan)}/checkpoints/${encoded(checkpoint)}/restore`, {});
}

export async function apply(
  plan: string,
  options: { readonly digest: string; readonly allow: readonly string[] },
): Promise<Landing> {
  return await post(`${at(plan)}/apply`, options);
}

export async function undo(plan: string): Promise<Landing> {
  return await post(`${at(plan)}/undo`, {});
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

/** What happens to plans from now on, until the connection ends. */
export async function* events(after: string, signal: AbortSignal): AsyncGenerator<PlanEvent> {
  const answer = await call("GET", `/v1/events${query({ after })}`, { signal });
  const decoder = new TextDecoder();
  let text = "";
  for await (const part of answer.body ?? []) {
    const blocks = `${text}${decoder.decode(part, { stream: true })}`.split("\n\n");
    text = blocks.pop() ?? "";
    for (const block of blocks) {
      const data = /^data: (.*)$/m.exec(block)?.[1];
      if (data !== undefined && /^event: plan$/m.test(block)) yield JSON.parse(data) as PlanEvent;
    }
  }
}
