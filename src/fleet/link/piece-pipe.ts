import type { PieceKind } from "./call-queue.ts";
import type { FleetLink } from "./fleet-link.ts";

/** How many pieces may be there that the other end has not read. */
const MOST_UNREAD = 16;
const LOOK_MS = 1_000;
/** The most bytes of a piece. */
const MOST_BYTES = 64 * 1024;

/** What a piece of output is of: its first character. */
export const OUTPUTS = { stdout: "1", stderr: "2" } as const;

/** Bytes as pieces. */
export function piecesOf(bytes: Buffer): readonly string[] {
  return Array.from({ length: Math.ceil(bytes.length / MOST_BYTES) }, (_, at) =>
    bytes.subarray(at * MOST_BYTES, (at + 1) * MOST_BYTES).toString("base64"),
  );
}

/** One end of a stream of pieces beside a call, while that runs. */
export interface PipeEnd {
  readonly link: Pick<FleetLink, "queue" | "bell">;
  readonly key: string;
  readonly kind: PieceKind;
  /** The host or process at the other end. */
  readonly other: string;
}

/** Writes pieces, one after the other, and waits where the other end does not read them. */
export class PieceWriter {
  readonly #end: PipeEnd;
  #position = 0;
  #read = 0;
  #turn: Promise<void> = Promise.resolve();

  constructor(end: PipeEnd) {
    this.#end = end;
  }

  /** Nothing is written any more after the signal. */
  async write(content: string, signal: AbortSignal): Promise<void> {
    const written = this.#turn.then(() => this.#write(content, signal));
    this.#turn = written.catch(() => undefined);
    await written;
  }

  async #write(content: string, signal: AbortSignal): Promise<void> {
    const { link, key, kind, other } = this.#end;
    while (this.#position - this.#read >= MOST_UNREAD) {
      const { rings } = link.bell;
      this.#read = this.#position - (await link.queue.unread(key, kind));
      if (signal.aborted) return;
      if (this.#position - this.#read >= MOST_UNREAD) await link.bell.next(rings, LOOK_MS, signal);
    }
    await link.queue.addPiece(key, kind, this.#position, content, other);
    this.#position += 1;
  }
}

/** Reads pieces, and removes those that it has read. */
export class PieceReader {
  readonly #end: PipeEnd;
  #position = 0;

  constructor(end: PipeEnd) {
    this.#end = end;
  }

  /** What has come since the last time. */
  async read(): Promise<readonly string[]> {
    const { link, key, kind, other } = this.#end;
    const pieces = await link.queue.piecesFrom(key, kind, this.#position, other);
    this.#position += pieces.length;
    return pieces;
  }

  /** Waits for more, or for a while. `rings` are those before the last read. */
  async more(rings: number, signal?: AbortSignal): Promise<void> {
    await this.#end.link.bell.next(rings, LOOK_MS, signal);
  }
}
