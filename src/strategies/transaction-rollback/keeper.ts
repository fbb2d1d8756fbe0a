import { setTimeout as sleep } from "node:timers/promises";
import { InterruptedError } from "../../core/errors.ts";
import { failpoint } from "../../system/failpoints.ts";
import { listenPrivately } from "../../system/private-socket.ts";
import { currentOwner } from "../../system/process-identity.ts";
import { KeeperFolder } from "./keeper-folder.ts";
import {
  decodeMessage,
  encodeMessage,
  failureOf,
  type KeeperAnswer,
  type KeeperOperation,
  type KeeperOperations,
  type KeeperRequest,
  type KeeperStart,
} from "./keeper-protocol.ts";
import { KeptSandbox } from "./kept-sandbox.ts";

const LISTEN = failpoint("keeper.listen");
const LOOK_AROUND_MS = 1000;
const ANSWER_MS = 50;
/** A keeper that holds nothing, because it was only started to settle something, goes after a while. */
const IDLE_END_MS = 60_000;

type Given = { readonly [operation in KeeperOperation]: KeeperOperations[operation]["asks"] };

interface Kept {
  readonly kept: KeptSandbox;
  /** The end of the last request. */
  last: Promise<unknown>;
  /** How many requests are not answered yet. */
  waiting: number;
}

/** What is of no use to anybody when who asked for it has died. */
const ENDING_WITH_ASKER: readonly KeeperOperation[] = ["run", "table"];
const TELL_AGAIN_MS = 100;

/** The process that holds the transactions of a plan. */
export class Keeper {
  readonly #start: KeeperStart;
  readonly #folder: KeeperFolder;
  readonly #sandboxes = new Map<string, Kept>();
  readonly #end: () => void;
  #busySince = Date.now();
  #listener: { close(): void } | undefined;

  /** `end` is called when there is nothing left to hold. */
  constructor(start: KeeperStart, end: () => void) {
    this.#start = start;
    this.#end = end;
    const [, stateDir = "", planId = ""] = /^(.*)\/keepers\/([^/]+)$/s.exec(start.folder) ?? [];
    this.#folder = new KeeperFolder(stateDir, planId);
  }

  /** Listens from here on, and looks around until it ends. */
  async listen(): Promise<void> {
    const { folder, keeperId } = this.#start;
    this.#listener = await listenPrivately(LISTEN, folder, `${keeperId}.sock`, (line, gone) =>
      this.#answer(line, gone),
    );
    this.#folder.announce({ keeperId, owner: currentOwner("drydock keeper") });
    setInterval(() => void this.#lookAround(), LOOK_AROUND_MS);
  }

  /** Begins to connect, for who will ask for that. */
  connectTo({ location, ...sandbox }: NonNullable<KeeperStart["connects"]>): void {
    this.#sandboxOf(sandbox).kept.expect(location);
  }

  async #answer(line: string, gone: AbortSignal): Promise<string> {
    this.#busySince = Date.now();
    let answer: KeeperAnswer;
    try {
      const request = decodeMessage<KeeperRequest>(line);
      answer = {
        done: await (request.operation === "cancel" ? this.#outOfTurn(request) : this.#inTurn(request, gone)),
      };
    } catch (thrown) {
      answer = { failed: failureOf(thrown) };
    }
    return encodeMessage(answer);
  }

  async #inTurn(request: KeeperRequest, gone: AbortSignal): Promise<unknown> {
    const sandbox = this.#sandboxOf(request);
    sandbox.waiting += 1;
    const operate = async () => await this.#operate(sandbox.kept, request.operation, request.given as never);
    const isForAsker = ENDING_WITH_ASKER.includes(request.operation);
    const turn = sandbox.last.then(() => (isForAsker ? whileWanted(sandbox.kept, gone, operate) : operate()));
    // One that fails does not keep the next from its turn.
    sandbox.last = turn.catch(() => undefined);
    try {
      return (await turn) ?? null;
    } finally {
      sandbox.waiting -= 1;
    }
  }

  async #outOfTurn(request: KeeperRequest): Promise<unknown> {
    return (await this.#operate(this.#sandboxOf(request).kept, request.operation, request.given as never)) ?? null;
  }

  #sandboxOf({ planId, resourceId }: Pick<KeeperRequest, "planId" | "resourceId">): Kept {
    const known = this.#sandboxes.get(resourceId);
    if (known !== undefined) return known;
    const kept = new KeptSandbox({
      planId,
      resourceId,
      secret: this.#start.secrets[resourceId],
      now: () => new Date(),
      limits: this.#start.limits,
      noteEnded: (why) => this.#folder.noteEnded(resourceId, why),
    });
    const made: Kept = { kept, last: Promise.resolve(), waiting: 0 };
    this.#sandboxes.set(resourceId, made);
    return made;
  }

  #operate(kept: KeptSandbox, operation: KeeperOperation, given: never): unknown {
    const operations: { readonly [name in KeeperOperation]: (given: Given[name]) => unknown } = {
      connect: ({ location }) => kept.connect(location),
      begin: ({ name }) => kept.begin(name),
      replay: ({ name }) => kept.replay(name),
      run: ({ script, readOnly }) => kept.run(script, readOnly),
      cancel: () => kept.cancel(),
      table: ({ table }) => kept.table(table),
      log: () => kept.log(),
      checkpoint: ({ checkpointId }) => kept.checkpoint(checkpointId),
      restore: ({ checkpointId }) => kept.restore(checkpointId),
      makeMarker: () => kept.makeMarker(),
      prepare: ({ marker }) => kept.prepare(marker),
      commit: () => kept.commit(),
      disconnect: () => kept.disconnect(),
      holds: () => kept.isHolding,
      status: () => kept.status(),
      land: (asked) => kept.land(asked),
      takeBack: (asked) => kept.takeBack(asked),
      forget: ({ location, marker }) => kept.forget(location, marker),
      end: () => this.#endIfIdle(),
    };
    return operations[operation](given);
  }

  #endIfIdle(): KeeperOperations["end"]["answers"] {
    const isHolding = [...this.#sandboxes.values()].some(({ kept }) => kept.isHolding);
    if (!isHolding) {
      // Who asks from here on finds nobody, and starts another; the answer is still on its way.
      this.#listener?.close();
      setTimeout(this.#end, ANSWER_MS);
    }
    return { ends: !isHolding };
  }

  async #lookAround(): Promise<void> {
    if (this.#folder.keeper()?.keeperId !== this.#start.keeperId) return this.#end();
    for (const { kept, waiting } of this.#sandboxes.values()) if (waiting === 0) await kept.expire();
    const isHolding = [...this.#sandboxes.values()].some(({ kept }) => kept.isHolding);
    if (!isHolding && Date.now() - this.#busySince > IDLE_END_MS) this.#end();
  }
}

/** Runs statements for somebody. When he dies they end, as if he had interrupted them, or are not even begun. */
async function whileWanted(kept: KeptSandbox, gone: AbortSignal, operate: () => Promise<unknown>): Promise<unknown> {
  if (gone.aborted) throw new InterruptedError();
  let isOver = false;
  const end = async () => {
    // Told once more if it was between two statements then. If the server can't be told, they end by themselves.
    while (!isOver && (await isTold(kept))) await sleep(TELL_AGAIN_MS);
  };
  gone.addEventListener("abort", end);
  try {
    return await operate();
  } finally {
    isOver = true;
    gone.removeEventListener("abort", end);
  }
}

async function isTold(kept: KeptSandbox): Promise<boolean> {
  return await kept.cancel().then(
    () => true,
    () => false,
  );
}
