import { z } from "zod";
import type { Services } from "../../services.ts";
import { OPERATIONS } from "../api.ts";
import { makeApp, Requests } from "../http/app.ts";
import { listen } from "../http/server.ts";
import type { Operation } from "../operation.ts";
import { ServedCommands } from "../served-commands.ts";
import { ReviewDoor } from "./review-door.ts";
import { ReviewEnd, type ReviewVerdict } from "./review-end.ts";
import { addReviewRoutes, PAGE_HEADERS } from "./review-routes.ts";

/**
 * Operations that the page calls. It runs no command and writes no file, so neither can whoever breaks into
 * it.
 */
const OF_THE_PAGE: ReadonlySet<string> = new Set([
  "listPlans",
  "showPlan",
  "showLog",
  "diffPlan",
  "patchPlan",
  "listScratch",
  "patchScratch",
  "saveCheckpoint",
  "listCheckpoints",
  "restoreCheckpoint",
  "applyPlan",
  "undoPlan",
  "rollBackPlan",
  "updatePlan",
  "resolvePath",
  "showApproval",
  "followEvents",
  "showReview",
  "reviewChanges",
  "reviewHunks",
  "reviewRows",
  "readChange",
  "voteOnChanges",
  "lookAtChanges",
  "commentOnPlan",
  "editComment",
  "removeComment",
]);

export interface ReviewOptions {
  readonly services: Services;
  readonly version: string;
  /** The plan to begin with. Default: the list of all. */
  readonly plan?: string;
  /** Aborting it closes the review. */
  readonly signal: AbortSignal;
  /** How long it waits for the first window. Default: for ever. */
  readonly unopenedMs?: number;
  /** Told where the page is. Each of its addresses has a token of its own, and only the last one works. */
  readonly onListening: (at: {
    readonly newUrl: () => string;
    readonly port: number;
  }) => void | Promise<void>;
  readonly onError: (error: unknown) => void;
}

/** Serves the page of a review, on this machine only, until it is decided or closed. */
export async function serveReview({
  services,
  version,
  plan,
  signal,
  unopenedMs,
  onListening,
  onError,
}: ReviewOptions): Promise<ReviewVerdict> {
  const [door, end, requests] = [new ReviewDoor(), new ReviewEnd(unopenedMs), new Requests()];
  const stop = new AbortController();
  const stopping = AbortSignal.any([signal, stop.signal]);
  const app = makeApp({
    ...{ services, version, requests, stopping },
    operations: OPERATIONS.filter(({ id }) => OF_THE_PAGE.has(id)).map(ofThePage),
    commands: new ServedCommands(),
    person: "page",
    guard: door,
    headers: PAGE_HEADERS,
    refusesQuietly: true,
    extend: (made) => addReviewRoutes(made, { ...{ door, end, plan, services, version } }),
    onDefect: onError,
  });
  const server = await listen(app, { host: "127.0.0.1", port: 0 });
  signal.addEventListener("abort", () => end.decide({ verdict: "closed" }), { once: true });
  try {
    const port = server.port ?? 0;
    await onListening({ port, newUrl: () => `http://127.0.0.1:${port}/#token=${door.newToken()}` });
    const verdict = await end.verdict;
    server.stop();
    stop.abort();
    await requests.allEnded();
    return verdict;
  } finally {
    await server.close();
  }
}

/**
 * A landing of the page runs the checks of the configuration, and none that the request names. It takes out
 * of a plan only what is rejected.
 */
const BODIES: { readonly [id: string]: (body: z.ZodObject) => z.ZodObject } = {
  applyPlan: (body) => body.omit({ check: true, checks: true }),
  rollBackPlan: () => z.strictObject({ rejected: z.literal(true) }),
};

function ofThePage(operation: Operation): Operation {
  const { id, body } = operation;
  const narrowed = typeof body === "object" ? BODIES[id]?.(body) : undefined;
  return narrowed === undefined ? operation : { ...operation, body: narrowed };
}
