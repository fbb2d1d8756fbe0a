import { setTimeout as sleep } from "node:timers/promises";
import { InterruptedError, StateError, UsageError } from "../../core/errors/errors.ts";
import { displayPath } from "../../core/paths/byte-path.ts";
import type { Notice } from "../../core/values/notice.ts";
import { type DetachedFacts, detachedCommand } from "../../plans/history/detached-command.ts";
import type { DetachedView, PlanView, RunEnd } from "../../plans/plan-views.ts";
import type { PlanSession } from "../../sandboxes/access/plan-session.ts";
import type { WindowSize } from "../../system/terminal/program-streams.ts";
import { assertCommand } from "../exec.ts";
import { Attachment, type AttachmentEvents, type DetachedPlace, type Greeting } from "./attachment.ts";
import { assertSize, type OutputPart } from "./detached-protocol.ts";
import { type DetachRequest, type KeepingPlace, startDetached } from "./detached-start.ts";
import { keptOutput } from "./kept-output.ts";
import { type DetachedOutput, excerptOf, OutputReading, partOf } from "./output-reading.ts";

const LOOK_AGAIN_MS = 50;
/** How often one that runs and does not answer is tried again: a minute. */
const MOST_TRIES = 1200;
const NO_OUTPUT: Greeting = { part: { last: 0 } };
const UNHEARD: AttachmentEvents = { output: () => undefined };

export interface DetachedParts {
  readonly session: PlanSession;
  readonly place: KeepingPlace;
  readonly plans: {
    cancel(plan: string | undefined): Promise<PlanView>;
    show(plan: string): Promise<PlanView>;
  };
  readonly notice: (notice: Notice) => void;
}

/**
 * The detached commands of plans, for programs: any process that has opened the state directory can start,
 * find and use them. A command is named by its id; without one, the last of the plan is meant.
 */
export class DetachedCommands {
  readonly #parts: DetachedParts;

  constructor(parts: DetachedParts) {
    this.#parts = parts;
  }

  /** Starts a command that goes on without this process. */
  async start(plan: string | undefined, request: DetachRequest): Promise<DetachedView> {
    const { session, place, notice } = this.#parts;
    assertCommand(request.command);
    if (request.terminal !== undefined) assertSize(request.terminal);
    const { id: planId } = await session.plans.find(plan);
    const { signal } = session.operations;
    if (signal.aborted) throw new InterruptedError();
    const { exec } = await startDetached({ place, planId, request }, { signal, notice });
    return await this.show(planId, exec);
  }

  /** Those that run in a plan. */
  async running(plan: string | undefined): Promise<readonly DetachedView[]> {
    const last = await this.last(plan);
    return last?.state === "running" ? [viewOf(last)] : [];
  }

  /** The one that was started last in a plan; undefined if none was. */
  async last(plan: string | undefined): Promise<DetachedFacts | undefined> {
    const { session } = this.#parts;
    return await detachedCommand(session, (await session.plans.find(plan)).id);
  }

  /** How a command is now. */
  async show(plan: string | undefined, exec?: string): Promise<DetachedView> {
    return viewOf((await this.#found(plan, exec)).facts);
  }

  /** What a command wrote, or a part of it. Default: all that is kept. */
  async output(
    plan: string | undefined,
    exec?: string,
    part: OutputPart = { from: 0 },
  ): Promise<DetachedOutput> {
    const at = await this.#place(plan, exec);
    for (let tries = 0; ; tries = await nextTry(tries)) {
      const reading = new OutputReading(part);
      const facts = await this.#attached(at, { part }, reading, async ({ ended }) => {
        await Promise.race([reading.done, ended]);
      });
      const read = reading.result();
      if (read !== undefined) return read;
      if (facts.state === "running") continue;
      const kept = keptOutput(at.stateDir, at.planId, at.exec);
      return kept === undefined ? excerptOf(facts.output ?? "") : partOf(kept, part);
    }
  }

  /** Types at the terminal of a command, and resolves when that has taken it. */
  async write(plan: string | undefined, exec: string | undefined, input: string | Uint8Array): Promise<void> {
    const keys = Buffer.from(input);
    await this.#tell(plan, exec, (attachment) => attachment.type(keys));
  }

  /** Sets the window size of a command's terminal. */
  async resize(plan: string | undefined, exec: string | undefined, size: WindowSize): Promise<void> {
    assertSize(size);
    await this.#tell(plan, exec, (attachment) => attachment.resize(size));
  }

  /** Waits for the end of a command, and of all that comes after it. */
  async ended(plan: string | undefined, exec?: string): Promise<DetachedView> {
    const at = await this.#place(plan, exec);
    for (let tries = 0; ; tries = await nextTry(tries)) {
      const facts = await this.#attached(at, NO_OUTPUT, UNHEARD, async ({ ended }) => void (await ended));
      if (facts.state !== "running") return viewOf(facts);
    }
  }

  /** Ends a command: SIGTERM first, and SIGKILL after five seconds. One that has ended stays as it is. */
  async end(plan: string | undefined, exec?: string): Promise<DetachedView> {
    const at = await this.#place(plan, exec);
    await this.#stop(at);
    return await this.ended(at.planId, at.exec);
  }

  /** Notes how the `run` of a command ended, which has ended otherwise. */
  async noteRunEnd({ planId, exec }: Omit<DetachedPlace, "stateDir">, end: RunEnd): Promise<void> {
    await this.#parts.session.history.note(planId, "run ended", { exec, ...end });
  }

  /** Cancels a plan; with `force` its detached command ends first. */
  async cancel(
    plan: string | undefined,
    { force = false }: { readonly force?: boolean } = {},
  ): Promise<PlanView> {
    const { plans, session } = this.#parts;
    const [running] = force ? await this.running(plan) : [];
    if (running === undefined) return await plans.cancel(plan);
    const found = await session.plans.find(plan);
    const { id: planId } = found;
    // Before it ends: a cancel that is refused leaves everything as it was.
    session.sandboxes.assertOnlyDetached(found);
    await this.#stop({ stateDir: session.stateDir, planId, exec: running.exec });
    const ended = await plans.show(planId);
    // A command that left nothing to land took its plan with it.
    return (await session.history.wasCancelled(planId)) ? ended : await plans.cancel(planId);
  }

  async #tell(
    plan: string | undefined,
    exec: string | undefined,
    tell: (attachment: Attachment) => void,
  ): Promise<void> {
    const at = await this.#place(plan, exec);
    let isTaken = false;
    for (let tries = 0; !isTaken; tries = await nextTry(tries)) {
      const facts = await this.#attached(at, NO_OUTPUT, UNHEARD, async (attachment) => {
        tell(attachment);
        const taken = attachment.flushed().then(() => {
          isTaken = true;
        });
        await Promise.race([taken, attachment.ended]);
      });
      if (isTaken) return;
      if (facts.state !== "running") throw hasEnded(facts);
    }
  }

  /** Asks a command to end, if it runs, and waits for all that belongs to its end. */
  async #stop(at: DetachedPlace): Promise<void> {
    for (let tries = 0; ; tries = await nextTry(tries)) {
      const { state } = await this.#attached(at, NO_OUTPUT, UNHEARD, async (attachment) => {
        attachment.stop();
        await attachment.ended;
      });
      if (state !== "running") return;
    }
  }

  /** Works with a command while it runs, and says how it is afterwards. */
  async #attached(
    at: DetachedPlace,
    greeting: Greeting,
    events: AttachmentEvents,
    work: (attachment: Attachment) => Promise<void>,
  ): Promise<DetachedFacts> {
    const { signal } = this.#parts.session.operations;
    for (let tries = 0; ; tries = await nextTry(tries)) {
      if (signal.aborted) throw new InterruptedError();
      const facts = await this.#facts(at);
      if (facts.state !== "running") return facts;
      using attachment = await Attachment.open(at, greeting, events);
      if (attachment !== undefined) {
        const leave = () => attachment[Symbol.dispose]();
        signal.addEventListener("abort", leave);
        if (signal.aborted) leave();
        try {
          await work(attachment);
        } finally {
          signal.removeEventListener("abort", leave);
        }
        if (signal.aborted) throw new InterruptedError();
        return await this.#facts(at);
      }
      // It is just coming up, and nobody listens yet, or it has just ended.
    }
  }

  async #place(plan: string | undefined, exec: string | undefined): Promise<DetachedPlace> {
    const { planId, facts } = await this.#found(plan, exec);
    return { stateDir: this.#parts.session.stateDir, planId, exec: facts.exec };
  }

  async #facts({ planId, exec }: DetachedPlace): Promise<DetachedFacts> {
    return (await this.#found(planId, exec)).facts;
  }

  async #found(plan: string | undefined, exec: string | undefined) {
    const { session } = this.#parts;
    const { id: planId, name } = await session.plans.find(plan);
    const facts = await detachedCommand(session, planId, exec);
    if (facts !== undefined) return { planId, facts };
    const which = exec === undefined ? "no detached command" : `no detached command ${displayPath(exec)}`;
    throw new UsageError(`The plan ${displayPath(name)} had ${which}.`, { code: "NO_SUCH_COMMAND" });
  }
}

/** Waits a little: a command that has just ended, or whose process was killed, is known as that soon. */
async function nextTry(tries: number): Promise<number> {
  if (tries >= MOST_TRIES)
    throw new StateError("The process that keeps the detached command does not answer.", {
      hint: "Another version of Drydock may have started it. Attach with that one, or cancel the plan by force.",
    });
  await sleep(LOOK_AGAIN_MS);
  return tries + 1;
}

function viewOf({ output: _, ...view }: DetachedFacts): DetachedView {
  return view;
}

function hasEnded({ command, state, exitCode }: DetachedFacts): UsageError {
  const how = state === "ended" ? `has ended, with exit code ${exitCode}` : "was killed";
  return new UsageError(`'${command}' ${how}.`, { code: "NO_SUCH_COMMAND", hint: "Start it again." });
}
