import { type Command, Option } from "commander";
import { messageOf, UsageError } from "../../../core/errors/errors.ts";
import type { ReviewComment } from "../../../plans/review/review-views.ts";
import type { ReviewVerdict } from "../../../serve/review/review-end.ts";
import type { CommandContext } from "../../command-context.ts";
import { channelOf, openToChange, openToRead } from "../../open-for-command.ts";
import { addPlanArgument } from "../../options/plan-argument.ts";
import { commentPlace } from "../../render/plan/comment-place.ts";
import { openInBrowser } from "../../terminal/browser.ts";
import { oneLine } from "../../terminal/printable.ts";
import { version } from "../version.ts";

interface ReviewCommandOptions {
  /** False only if the user says so. */
  readonly open?: boolean;
  /** At the terminal, without a browser. */
  readonly tty?: boolean;
  /** The page goes on when the command has ended. */
  readonly background?: boolean;
  /** End the one that goes on in the background. */
  readonly end?: boolean;
  /** Ask a person for a review. */
  readonly request?: boolean;
  readonly message?: string;
  /** Say something about the plan, or about one of its changes. */
  readonly comment?: string;
  readonly on?: string;
  /** This process is the one in the background. */
  readonly inBackground?: boolean;
}

/** Programs rely on these numbers. */
const EXITS = { approved: 0, "changes asked": 1, closed: 2 } as const;

/** What is about a review that goes on here. */
const OF_A_REVIEW = ["open", "tty", "background", "end"];

/**
 * `drydock review [PLAN] [--no-open] [--tty | --background | --end]`, `drydock review [PLAN] --request
 * [-m TEXT]`, `drydock review [PLAN] --comment TEXT [--on PATH[:LINE]]`
 */
export function define(command: Command, context: CommandContext): void {
  addPlanArgument(command)
    .option("--no-open", "only print the address of the page")
    .option("--tty", "review here at the terminal, change by change and hunk by hunk")
    .addOption(
      new Option(
        "--background",
        "leave the page open and end; the same again prints a new address",
      ).conflicts(["tty", "end"]),
    )
    .addOption(new Option("--end", "close the review that goes on in the background").conflicts("tty"))
    .addOption(
      new Option("--request", "ask a person to review exactly what would land now").conflicts([
        ...OF_A_REVIEW,
        "comment",
      ]),
    )
    .option("-m, --message <text>", "what to tell that person, with --request")
    .addOption(
      new Option("--comment <text>", "say something about the plan, or with --on about a change").conflicts(
        OF_A_REVIEW,
      ),
    )
    .option("--on <path[:line]>", "the changed path, and the line of it, that the comment is on")
    .addOption(new Option("--in-background").hideHelp())
    .action(async (plan: string | undefined, options: ReviewCommandOptions) => {
      if (options.inBackground === true) return await serveHere(context, plan);
      assertGoTogether(options);
      if (options.request === true) {
        const { requestReview } = await import("./request-review.ts");
        return await requestReview(context, plan, options);
      }
      if (options.comment !== undefined) {
        const { comment } = await import("./comment.ts");
        return await comment(context, plan, { text: options.comment, on: options.on });
      }
      assertOutside(context);
      if (options.background === true || options.end === true)
        return await inBackground(context, plan, options);
      const verdict = await openToChange(context, plan, async (services, signal) => {
        if (options.tty !== true) return await review(context, plan, { ...options, services, signal });
        const { TerminalReview } = await import("./review-at-terminal.ts");
        return await TerminalReview.run(context, services, plan);
      });
      context.exitWith(EXITS[verdict.verdict]);
      context.result(verdict, () => verdictLines(verdict));
    });
}

function assertGoTogether({ request, message, comment, on }: ReviewCommandOptions): void {
  const wrong =
    message !== undefined && request !== true
      ? ["--message", "--request"]
      : on !== undefined && comment === undefined
        ? ["--on", "--comment"]
        : undefined;
  if (wrong === undefined) return;
  const [option, other] = wrong;
  throw new UsageError(`${option} belongs to ${other}.`, { hint: `Add ${other}, or leave it out.` });
}

/** A verdict is the word of a person, whom a command inside can only ask. */
function assertOutside(context: CommandContext): void {
  if (channelOf(context) === undefined) return;
  throw new UsageError("A command inside a plan can't review it.", {
    hint: "Ask the person outside. 'drydock review --request' does.",
    code: "NOT_ALLOWED",
  });
}

/** Starts, finds or ends the review that goes on when this command has ended. */
async function inBackground(
  context: CommandContext,
  plan: string | undefined,
  { end, open = true }: ReviewCommandOptions,
): Promise<void> {
  const place = await openToRead(context, async ({ plans, stateDir }) => ({
    stateDir,
    ...(plan !== undefined && { plan: (await plans.find(plan)).id }),
  }));
  const { endInBackground, reviewInBackground } = await import("./background-review.ts");
  if (end === true) {
    const ended = await endInBackground(place);
    const said = ended ? "The review is closed." : "No such review goes on in the background.";
    return context.result({ ended }, () => [said]);
  }
  const { isOpened, ...address } = await reviewInBackground(context, place, open);
  context.result(address, () => backgroundLines({ ...address, isOpened }, plan));
}

/** The process in the background. Its cwd is none of the user's folders, which would stay busy. */
async function serveHere(context: CommandContext, plan: string | undefined): Promise<void> {
  await context.enter(context.cwd);
  process.chdir("/");
  const { serveInBackground } = await import("./background-review.ts");
  await openToChange(context, plan, async (services, signal) => {
    const about = plan === undefined ? {} : { plan: (await services.plans.find(plan)).id };
    return await serveInBackground(context, { services, signal, ...about });
  });
}

type Work = Parameters<Parameters<typeof openToChange>[2]>;

async function review(
  context: CommandContext,
  plan: string | undefined,
  {
    services,
    signal,
    open = true,
  }: ReviewCommandOptions & { readonly services: Work[0]; readonly signal: Work[1] },
): Promise<ReviewVerdict> {
  const about = plan === undefined ? {} : { plan: (await services.plans.find(plan)).id };
  const { serveReview } = await import("../../../serve/review/review.ts");
  using opened = new DisposableStack();
  return await serveReview({
    ...{ services, signal, ...about },
    version: await version(),
    onListening: ({ newUrl, port }) => {
      const url = newUrl();
      const page = open ? openInBrowser(context, services.stateDir, url) : undefined;
      opened.use(page);
      for (const line of addressLines({ url, port, isOpened: page !== undefined }))
        context.output.notice(line);
    },
    onError: (error) => context.output.notice(`review: ${messageOf(error)}`),
  });
}

interface Address {
  readonly url: string;
  readonly port: number;
  readonly isOpened: boolean;
}

function* addressLines({ url, port, isOpened }: Address): Generator<string> {
  yield* whereLines({ url, port, isOpened });
  yield "The address works once. Waiting for your verdict; Ctrl-C closes the review.";
}

function* backgroundLines(address: Address, plan: string | undefined): Generator<string> {
  yield* whereLines(address);
  const end = `drydock review ${plan === undefined ? "" : `${oneLine(plan)} `}--end`;
  yield `The address works once. The page goes on until it is decided or closed, or by: ${end}`;
}

function* whereLines({ url, port, isOpened }: Address): Generator<string> {
  yield isOpened ? `The review is open in your browser. If not, open ${url}` : `Open ${url}`;
  if (!isOpened) yield `From another machine, first: ssh -L ${port}:127.0.0.1:${port} HOST`;
}

function* verdictLines(verdict: ReviewVerdict): Generator<string> {
  if (verdict.verdict === "closed") {
    yield "The review was closed without a verdict.";
    return;
  }
  const { planName, planId, digest, message = "", comments } = verdict;
  if (verdict.verdict === "approved") {
    yield `Approved ${oneLine(planName)} with digest ${digest}.`;
    yield `It lands with: drydock plan apply ${planId} --approved`;
  } else yield `Changes asked for ${oneLine(planName)}:`;
  for (const line of message.split("\n")) if (line !== "") yield oneLine(line);
  for (const comment of comments) yield* commentLines(comment);
}

/** A comment as compilers report: where, then what. */
function* commentLines(comment: ReviewComment): Generator<string> {
  const place = commentPlace(comment);
  const [first = "", ...more] = comment.text.split("\n");
  yield place === undefined ? oneLine(first) : `${place}: ${oneLine(first)}`;
  for (const other of more) yield `  ${oneLine(other)}`;
}
