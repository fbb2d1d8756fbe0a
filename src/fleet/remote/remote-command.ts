import { once } from "node:events";
import { PassThrough, Writable } from "node:stream";
import type { ExecResult } from "../../run/exec.ts";
import type { SpawnedCommand, SpawnRequest } from "../../run/spawn.ts";
import type { FleetLink } from "../link/fleet-link.ts";
import { OUTPUTS, PieceReader, PieceWriter, piecesOf } from "../link/piece-pipe.ts";
import { Caller } from "./caller.ts";

/** A command that runs inside a plan on this or another host, with its streams. */
export type HostCommand = Omit<SpawnedCommand, "exec" | "resize">;

/** What runs on another host: no signal and no function travels. */
export type HostCommandRequest = Omit<SpawnRequest, "terminal" | "signal" | "onStart">;

/**
 * A command on another host. Its call runs as long as it does; its streams are pieces beside the call
 * (piece-pipe.ts), and signals are pieces too.
 */
export class RemoteCommand implements HostCommand {
  readonly planId: string;
  readonly stdin: Writable;
  readonly stdout = new PassThrough();
  readonly stderr = new PassThrough();
  readonly #signals: PieceWriter;
  readonly #output: PieceReader;
  readonly #interrupted = new AbortController();
  readonly #over = new AbortController();
  readonly #ended: Promise<ExecResult>;

  constructor(link: FleetLink, host: string, planId: string, request: HostCommandRequest) {
    this.planId = planId;
    const caller = new Caller(link);
    const key = caller.newKey();
    const pipe = { link, key, other: host };
    this.#signals = new PieceWriter({ ...pipe, kind: "signal" });
    this.#output = new PieceReader({ ...pipe, kind: "output" });
    this.stdin = inputOf(new PieceWriter({ ...pipe, kind: "input" }), this.#over.signal);
    this.#ended = this.#run(caller, key, host, [planId, request]);
    this.#ended.catch(() => undefined);
  }

  /** A call that its host has not taken yet is cancelled; else the host passes the signal on. */
  kill(signal: NodeJS.Signals = "SIGTERM"): void {
    this.#interrupted.abort();
    this.#signals
      .write(signal, this.#over.signal)
      .catch((thrown: unknown) => this.stdout.destroy(thrown as Error));
  }

  async wait(): Promise<ExecResult> {
    return await this.#ended;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (!this.#over.signal.aborted) this.kill("SIGKILL");
    for (const stream of [this.stdin, this.stdout, this.stderr]) stream.destroy();
    await this.#ended.catch(() => undefined);
  }

  async #run(caller: Caller, key: string, host: string, args: readonly unknown[]): Promise<ExecResult> {
    try {
      const request = { kind: "service", name: "exec" } as const;
      const onLook = () => this.#drain();
      const { signal } = this.#interrupted;
      return (await caller.ask({ key, host, request, args, signal, onLook })) as ExecResult;
    } finally {
      this.#over.abort();
      this.stdout.end();
      this.stderr.end();
    }
  }

  /** Hands on all that has come. */
  async #drain(): Promise<void> {
    for (;;) {
      const pieces = await this.#output.read();
      if (pieces.length === 0) return;
      for (const piece of pieces) {
        const stream = piece.startsWith(OUTPUTS.stdout) ? this.stdout : this.stderr;
        if (stream.destroyed || stream.write(Buffer.from(piece.slice(1), "base64"))) continue;
        await Promise.race([once(stream, "drain"), once(stream, "close")]);
      }
    }
  }
}

/** A stream of which each piece travels; an empty one is its end. */
function inputOf(input: PieceWriter, over: AbortSignal): Writable {
  return new Writable({
    write: (bytes: Buffer, _, done) => {
      Promise.all(piecesOf(bytes).map((piece) => input.write(piece, over))).then(() => done(), done);
    },
    final: (done) => {
      input.write("", over).then(() => done(), done);
    },
  });
}
