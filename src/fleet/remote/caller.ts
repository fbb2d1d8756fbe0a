import { DrydockError, InterruptedError, messageOf, StateError } from "../../core/errors/errors.ts";
import { type PlainError, plainError, reviveError } from "../../core/errors/revive-error.ts";
import { decodeMarked, encodeMarked } from "../../core/values/marked-json.ts";
import { closeFile } from "../../system/calls/handles.ts";
import { openSpooled, pieces } from "../../system/data/file-data.ts";
import { newId } from "../../system/state/new-id.ts";
import {
  type CallAnswer,
  type CallState,
  type Envelope,
  isTakenAgain,
  type Request,
} from "../link/call-queue.ts";
import type { FleetLink } from "../link/fleet-link.ts";
import { CONTRACT, callKey, type Driver, REFUSAL_TEXTS } from "../protocol/call.ts";
import type { Reply } from "../protocol/drive-results.ts";

/** How a call is sent. */
export interface Sending {
  /** Default: a new one. */
  readonly key?: string;
  readonly host: string;
  readonly request: Request;
  readonly args: readonly unknown[];
  /** A file of this machine that goes along. */
  readonly file?: string;
  readonly signal?: AbortSignal;
  /** Called again and again while the call is waited for, and once more when it is answered. */
  readonly onLook?: () => Promise<void>;
}

/** What came of a call. */
export interface Received {
  readonly reply: Reply;
  readonly result?: unknown;
  readonly error?: DrydockError;
  /** Why the host did not answer. */
  readonly why?: string;
}

/** How long a host that is not up may take to take a call, and how often its state is looked at. */
const NOT_UP_MS = 1_500;
const LOOK_MS = 1_000;

/** Sends calls to other hosts, and waits for what comes of them. */
export class Caller {
  readonly #link: FleetLink;

  constructor(link: FleetLink) {
    this.#link = link;
  }

  /** This process, as the one that sends. */
  get me(): Driver {
    const { host, process, view } = this.#link;
    return { host, epoch: view.epoch, process };
  }

  /** Calls a host, and returns the result. Throws what was thrown there. */
  async ask(sending: Sending): Promise<unknown> {
    const { reply, result, error, why } = await this.send(sending);
    if (error !== undefined) throw error;
    if (reply.said === "changed") return result;
    if (sending.signal?.aborted === true && reply.said === "cancelled") throw new InterruptedError();
    throw noAnswer(sending.host, reply, why);
  }

  /** Sends a call, and waits until it is answered or can't be waited for any longer. */
  async send({ key: given, host, request, args, file, ...waiting }: Sending): Promise<Received> {
    const { queue } = this.#link;
    const key = "call" in request ? callKey(request.call) : (given ?? this.newKey());
    const envelope: Envelope = { key, host, request, sender: this.me, contract: CONTRACT };
    if (file !== undefined) await this.#addFile(key, file);
    await queue.send(envelope, encodeMarked(args));
    return await this.#answered(envelope, waiting);
  }

  /** The key of a call that is not repeated. */
  newKey(): string {
    return `${this.#link.process} ${newId()}`;
  }

  async #addFile(key: string, file: string): Promise<void> {
    const fd = openSpooled(file);
    try {
      let position = 0;
      for (const piece of pieces(fd, "a stream")) {
        await this.#link.queue.addPiece(key, "file", position, piece.toString("base64"));
        position += 1;
      }
    } finally {
      closeFile(fd);
    }
  }

  async #answered(
    envelope: Envelope,
    { signal, onLook }: Pick<Sending, "signal" | "onLook">,
  ): Promise<Received> {
    const { key, host } = envelope;
    const { queue, bell } = this.#link;
    const isRepeated = isTakenAgain(envelope);
    const until = performance.now() + NOT_UP_MS;
    for (;;) {
      const { rings } = bell;
      const state = await queue.stateOf(key, host);
      await onLook?.();
      if (state.state === "answered") return await this.#read(envelope, state.answer);
      const isOut = state.isLate || (!state.isUp && performance.now() > until) || signal?.aborted === true;
      if (state.state === "queued" && isOut && (await queue.cancel(key)))
        return { reply: { said: "cancelled" }, why: notUp(host, state) };
      if (state.state === "cancelled" || state.state === "gone")
        return { reply: { said: "cancelled" }, why: notUp(host, state) };
      // Its next start takes what may be repeated once more.
      const isLost = !state.isUp || (!state.isSameStart && !isRepeated);
      if (state.state === "taken" && isLost && performance.now() > until)
        return { reply: { said: "not-known" }, why: notUp(host, state) };
      await bell.next(rings, LOOK_MS, state.state === "queued" ? signal : undefined);
    }
  }

  async #read(envelope: Envelope, answer: CallAnswer | undefined): Promise<Received> {
    const { queue } = this.#link;
    const { key } = envelope;
    const result = answer?.hasResult === true ? decodeMarked(await queue.whole(key, "result")) : undefined;
    await queue.forget(key);
    if (answer?.error === undefined) return { reply: answer?.said ?? { said: "changed" }, result };
    const given = saidBy(envelope.host, answer.error as PlainError);
    const reply: Reply = answer.said ?? { said: "failed", message: given.message };
    return { reply, error: reviveError(given) ?? new StateError(given.message, { code: "STRATEGY" }) };
  }
}

/** An error of another host says whose it is. */
function saidBy(host: string, error: PlainError): PlainError {
  return error.message.includes(host) ? error : { ...error, message: `On ${host}: ${error.message}` };
}

function notUp(host: string, { isUp, isKnown, since }: CallState): string {
  if (!isKnown) return `${host} is no host of the fleet any more`;
  if (isUp) return `${host} did not take the call in time`;
  return since === undefined ? `${host} was never started` : `${host} is not up (last heard of at ${since})`;
}

/** The error where a host did nothing, or nobody can tell. */
function noAnswer(host: string, reply: Reply, why: string | undefined): DrydockError {
  if (reply.said === "cancelled")
    return new StateError(
      `The host ${host} does not answer: ${why ?? "it is not up"}. Nothing was done there.`,
      {
        hint: "Start its service there.",
        code: "HOST_AWAY",
      },
    );
  if (reply.said === "refused")
    return new StateError(`The host ${host} refused: ${REFUSAL_TEXTS[reply.why]}.`, {
      hint: REFUSAL_HINTS[reply.why] ?? "Try it again.",
      code: "HOST_REFUSED",
    });
  if (reply.said === "failed") return new StateError(reply.message, { code: "STRATEGY" });
  return new StateError(`The host ${host} did not say what came of it: ${why ?? "its answer was lost"}.`, {
    hint: "It may have been done. Look at the plan, and do it again if need be.",
    code: "HOST_AWAY",
  });
}

const REFUSAL_HINTS: { readonly [why: string]: string } = {
  contract: "Bring all hosts to the same version of Drydock.",
  busy: "Wait until it has ended.",
};

/** An error as the answer of a call. */
export function plainOf(thrown: unknown): PlainError {
  return thrown instanceof DrydockError ? plainError(thrown) : { name: "Error", message: messageOf(thrown) };
}
