import { setTimeout as sleep } from "node:timers/promises";
import { BusyError, InterruptedError } from "../../../core/errors/errors.ts";
import { Turns } from "../../../database/server/turns.ts";
import { failpoint } from "../../../system/failpoints.ts";
import { listenPrivately } from "../../../system/process/private-socket.ts";
import { currentOwner } from "../../../system/process/process-identity.ts";
import { randomBytes } from "../../../system/random-bytes.ts";
import { HolderFolder } from "../holder-folder.ts";
import {
  decodeMessage,
  encodeMessage,
  failureOf,
  type HolderAnswer,
  type HolderOperation,
  type HolderOperations,
  type HolderRequest,
  type HolderStart,
} from "../holder-protocol.ts";
import { SandboxSession } from "./sandbox-session.ts";

const LISTEN = failpoint("holder.listen");
const LOOK_AROUND_MS = 1000;
const ANSWER_MS = 50;
/** A holder without a transaction, started only to end a prepared one, ends after a while. */
const IDLE_END_MS = 60_000;

type Given = { readonly [operation in HolderOperation]: HolderOperations[operation]["asks"] };

interface QueuedSession {
  readonly session: SandboxSession;
  /** Requests and clients of the server's own protocol use the connection one after the other. */
  readonly turns: Turns;
}

/** Operations that are useless when the client that asked has died. */
const ENDING_WITH_ASKER: readonly HolderOperation[] = ["run", "table", "rows"];
const TELL_AGAIN_MS = 100;
const OF_MEMORY: readonly HolderOperation[] = ["log", "status", "holds"];
const REQUEST = "drydock: ";
/** How long a request waits for the transaction of a client. */
const CLIENT_MS = 10_000;
const KEY_BYTES = 24;
/** The port that clients of PostgreSQL take if they are told none. */
const FIRST_PORT = 5432;

/** The process that holds the transactions of a plan. */
export class TransactionHolder {
  readonly #start: HolderStart;
  readonly #folder: HolderFolder;
  readonly #sandboxes = new Map<string, QueuedSession>();
  readonly #end: () => void;
  #busySince = Date.now();
  #listener: { close(): void } | undefined;

  /** `end` is called when there is nothing left to hold. */
  constructor(start: HolderStart, end: () => void) {
    this.#start = start;
    this.#end = end;
    const [, stateDir = "", planId = ""] = /^(.*)\/keepers\/([^/]+)$/s.exec(start.folder) ?? [];
    this.#folder = new HolderFolder(stateDir, planId);
  }

  /** Listens from here on, and checks its transactions and its folder until it ends. */
  async listen(): Promise<void> {
    const { folder, holderId } = this.#start;
    const key = newKey();
    const place = { folder, name: `${holderId}.sock` };
    this.#listener = await listenPrivately(LISTEN, place, key, (line, gone) => this.#answer(line, gone));
    this.#folder.announce({ holderId, owner: currentOwner("drydock holder"), key });
    setInterval(() => void this.#lookAround(), LOOK_AROUND_MS);
  }

  /** Begins to connect, before a request asks for it. */
  connectTo({ location, ...sandbox }: NonNullable<HolderStart["connects"]>): void {
    this.#sandboxOf(sandbox).session.expect(location);
  }

  async #answer(line: string, gone: AbortSignal): Promise<string> {
    this.#busySince = Date.now();
    let answer: HolderAnswer;
    try {
      const request = decodeMessage<HolderRequest>(line);
      answer = {
        done: await (request.operation === "cancel" ? this.#outOfTurn(request) : this.#inTurn(request, gone)),
      };
    } catch (thrown) {
      answer = { failed: failureOf(thrown) };
    }
    return encodeMessage(answer);
  }

  async #inTurn(request: HolderRequest, gone: AbortSignal): Promise<unknown> {
    const { session, turns } = this.#sandboxOf(request);
    const operate = async () => await this.#operate(session, request.operation, request.given as never);
    // What only the holder remembers can be told while a client works.
    if (OF_MEMORY.includes(request.operation) && turns.holder?.startsWith(REQUEST) === false)
      return (await operate()) ?? null;
    const release = await takeTurn(turns, request.operation);
    try {
      const isForAsker = ENDING_WITH_ASKER.includes(request.operation);
      return (await (isForAsker ? whileWanted(session, gone, operate) : operate())) ?? null;
    } finally {
      release();
    }
  }

  async #outOfTurn(request: HolderRequest): Promise<unknown> {
    return (
      (await this.#operate(this.#sandboxOf(request).session, request.operation, request.given as never)) ??
      null
    );
  }

  #sandboxOf({ planId, resourceId }: Pick<HolderRequest, "planId" | "resourceId">): QueuedSession {
    const known = this.#sandboxes.get(resourceId);
    if (known !== undefined) return known;
    const turns = new Turns();
    const port = FIRST_PORT + this.#sandboxes.size;
    const session = new SandboxSession({
      turns,
      door: { folder: this.#folder.makeClientFolder(), port, key: newKey() },
      planId,
      resourceId,
      secret: this.#start.secrets[resourceId],
      now: () => new Date(),
      limits: this.#start.limits,
      noteEnded: (why) => this.#folder.noteEnded(resourceId, why),
    });
    const queued: QueuedSession = { session, turns };
    this.#sandboxes.set(resourceId, queued);
    return queued;
  }

  #operate(session: SandboxSession, operation: HolderOperation, given: never): unknown {
    const operations: { readonly [name in HolderOperation]: (given: Given[name]) => unknown } = {
      connect: ({ location }) => session.connect(location),
      begin: ({ name }) => session.begin(name),
      replay: ({ name }) => session.replay(name),
      run: ({ script, readOnly }) => session.run(script, readOnly),
      cancel: () => session.cancel(),
      table: ({ table }) => session.table(table),
      rows: ({ table, range }) => session.rows(table, range),
      log: ({ checkpointId }) => session.log(checkpointId),
      checkpoint: ({ checkpointId }) => session.checkpoint(checkpointId),
      restore: ({ checkpointId }) => session.restore(checkpointId),
      makeMarker: () => session.makeMarker(),
      check: () => session.check(),
      prepare: ({ marker }) => session.prepare(marker),
      commit: () => session.commit(),
      disconnect: () => session.disconnect(),
      holds: () => session.isHolding,
      status: () => session.status(),
      land: (asked) => session.land(asked),
      takeBack: (asked) => session.takeBack(asked),
      forget: ({ location, marker }) => session.forget(location, marker),
      end: () => this.#endIfIdle(),
    };
    return operations[operation](given);
  }

  #endIfIdle(): HolderOperations["end"]["answers"] {
    const isHolding = [...this.#sandboxes.values()].some(({ session }) => session.isHolding);
    if (!isHolding) {
      // A client that asks from here on finds no holder and starts another. This answer is still to be sent.
      this.#listener?.close();
      setTimeout(this.#end, ANSWER_MS);
    }
    return { ends: !isHolding };
  }

  async #lookAround(): Promise<void> {
    if (this.#folder.holder()?.holderId !== this.#start.holderId) return this.#end();
    for (const { session, turns } of this.#sandboxes.values()) if (!turns.isTaken) await session.expire();
    const isHolding = [...this.#sandboxes.values()].some(({ session }) => session.isHolding);
    if (!isHolding && Date.now() - this.#busySince > IDLE_END_MS) this.#end();
  }
}

function newKey(): string {
  return randomBytes(KEY_BYTES).toString("base64url");
}

/** Waits for requests before this one, and within bounds for a client's transaction. */
async function takeTurn(turns: Turns, operation: HolderOperation): Promise<() => void> {
  const limit = new AbortController();
  let busy: string | undefined;
  const timer = setInterval(() => {
    if (turns.holder?.startsWith(REQUEST) !== false) return;
    busy = turns.holder;
    limit.abort();
  }, CLIENT_MS);
  try {
    const release = await turns.take(`${REQUEST}${operation}`, limit.signal);
    if (release !== undefined) return release;
  } finally {
    clearInterval(timer);
  }
  throw new BusyError(`A client of the database is at work in this plan: ${busy}.`, {
    holder: busy ?? "a client",
    hint: "Try again when its transaction has ended, or end the client.",
  });
}

/**
 * Runs statements for a client. When the client dies they end, as if it had interrupted them, or do not
 * begin.
 */
async function whileWanted(
  session: SandboxSession,
  gone: AbortSignal,
  operate: () => Promise<unknown>,
): Promise<unknown> {
  if (gone.aborted) throw new InterruptedError();
  let isOver = false;
  const end = async () => {
    // Cancel again, in case it was between two statements. If the server can't be reached, they end by
    // themselves.
    while (!isOver && (await isTold(session))) await sleep(TELL_AGAIN_MS);
  };
  gone.addEventListener("abort", end);
  try {
    return await operate();
  } finally {
    isOver = true;
    gone.removeEventListener("abort", end);
  }
}

async function isTold(session: SandboxSession): Promise<boolean> {
  return await session.cancel().then(
    () => true,
    () => false,
  );
}
