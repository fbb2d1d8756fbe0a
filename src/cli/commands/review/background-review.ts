import { dirname, join } from "node:path";
import { StateError } from "../../../core/errors/errors.ts";
import type { ReviewVerdict } from "../../../serve/review/review-end.ts";
import type { Services } from "../../../services.ts";
import { isThere } from "../../../system/data/existence.ts";
import { failpoint } from "../../../system/failpoints.ts";
import { startBackground } from "../../../system/process/background-process.ts";
import { askPrivately, lineServer } from "../../../system/process/private-socket.ts";
import type { Program } from "../../../system/process/start-process.ts";
import { listenAtSocket } from "../../../system/state/service-socket.ts";
import type { CommandContext } from "../../command-context.ts";
import { escapePath } from "../../options/escaped-path.ts";
import { openInBrowser } from "../../terminal/browser.ts";
import { version } from "../version.ts";

/**
 * A review in the background. The process that serves the page has a session of its own, so it outlives the
 * command and its terminal. It listens at a socket that only this user can reach, `serve/review-PLAN.sock` in
 * the state directory: there a later command finds it, gets a new address of its page, or ends it. While it
 * lives, there is no second one for the plan (service-socket.ts). The socket that a killed one left is
 * removed by the next one, of whichever plan.
 *
 * A command asks at the socket. If nothing answers, it starts the process, waits until that listens, and asks
 * again: of two commands at once, one is answered by the process of the other.
 */
const POINTS = { ask: failpoint("review.ask"), start: failpoint("review.start") };

const SOCKETS = /^review-\w+\.sock$/;
/** A review that no window was ever opened of ends after eight hours. */
const UNOPENED_MS = 8 * 3_600_000;

/** How often it looks whether it can still be found: a state directory can be removed. */
const LOOK_MS = 10_000;

type Request = { readonly ask: "address"; readonly opens: boolean } | { readonly ask: "end" };

/** Where the page of a review in the background is. */
export interface BackgroundAddress {
  /** With a token that works once. */
  readonly url: string;
  readonly port: number;
  /** Of the process that serves it. */
  readonly pid: number;
  readonly isOpened: boolean;
}

/** What a review is about. */
export interface ReviewPlace {
  readonly stateDir: string;
  /** The id of the plan; absent: all plans. */
  readonly plan?: string;
}

/** The address of the plan's review in the background, which is started if there is none. */
export async function reviewInBackground(
  context: CommandContext,
  place: ReviewPlace,
  opens: boolean,
): Promise<BackgroundAddress> {
  const request: Request = { ask: "address", opens };
  const found = await asked(place, request);
  if (found !== undefined) return found as BackgroundAddress;
  const said = await startBackground(POINTS.start, programFor(context, place), "");
  const started = await asked(place, request);
  if (started !== undefined) return started as BackgroundAddress;
  throw new StateError(`The review could not be started: ${said ?? "its process ended"}`, {
    hint: "Review it without --background.",
  });
}

/** Closes the plan's review in the background. Says whether there was one. */
export async function endInBackground(place: ReviewPlace): Promise<boolean> {
  return (await asked(place, { ask: "end" })) !== undefined;
}

async function asked({ stateDir, plan }: ReviewPlace, request: Request): Promise<unknown> {
  const at = { folder: folderIn(stateDir), name: socketOf(plan) };
  const answer = await askPrivately(POINTS.ask, at, `${JSON.stringify(request)}\n`);
  return answer === undefined ? undefined : JSON.parse(answer);
}

/** This very command, as the process that serves the page. */
function programFor({ options, environment, cwd }: CommandContext, { plan }: ReviewPlace): Program {
  const set = Object.entries(environment).flatMap(([name, value]) =>
    value === undefined ? [] : [[name, value] as const],
  );
  const { stateDir, config } = options;
  return {
    file: join(dirname(process.argv[1] ?? ""), "drydock"),
    args: [
      ...["review", "--in-background", ...(plan === undefined ? [] : [plan])],
      ...(stateDir === undefined ? [] : ["--state-dir", escapePath(stateDir)]),
      ...(config === undefined ? [] : ["--config", escapePath(config)]),
    ],
    ...{ cwd, environment: Object.fromEntries(set) },
  };
}

/** Serves the page in this process, which is the one in the background, until it is decided or closed. */
export async function serveInBackground(
  context: CommandContext,
  {
    services,
    signal,
    plan,
  }: Pick<ReviewPlace, "plan"> & {
    readonly services: Services;
    readonly signal: AbortSignal;
  },
): Promise<ReviewVerdict> {
  using held = new DisposableStack();
  const ended = new AbortController();
  let shown: Disposable | undefined;
  held.defer(() => shown?.[Symbol.dispose]());
  const { serveReview } = await import("../../../serve/review/review.ts");
  return await serveReview({
    ...{ services, version: await version(), ...(plan !== undefined && { plan }) },
    signal: AbortSignal.any([signal, ended.signal]),
    unopenedMs: UNOPENED_MS,
    onListening: async ({ port, newUrl }) => {
      const address = (opens: boolean): BackgroundAddress => {
        const url = newUrl();
        if (opens) {
          shown?.[Symbol.dispose]();
          shown = openInBrowser(context, services.stateDir, url);
        }
        return { url, port, pid: process.pid, isOpened: opens && shown !== undefined };
      };
      const server = lineServer(async (line) => {
        const request = JSON.parse(line) as Request;
        if (request.ask === "address") return `${JSON.stringify(address(request.opens))}\n`;
        // From now on it is not found any more, so the next command starts another one.
        server.close();
        ended.abort();
        return "{}\n";
      });
      const path = join(folderIn(services.stateDir), socketOf(plan));
      held.use(await listenAtSocket(server, path, SOCKETS));
      held.defer(() => void server.close());
      const look = setInterval(() => {
        if (!isThere(path)) ended.abort();
      }, LOOK_MS);
      held.defer(() => clearInterval(look));
      context.output.write("ready\n");
    },
    // The page shows it, and there is no terminal any more.
    onError: () => undefined,
  });
}

function folderIn(stateDir: string): string {
  return join(stateDir, "serve");
}

function socketOf(plan = "all"): string {
  return `review-${plan}.sock`;
}
