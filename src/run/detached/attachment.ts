import type { Socket } from "node:net";
import { terminalSocket } from "../../plans/history/detached-command.ts";
import { failpoint, passFailpoint } from "../../system/failpoints.ts";
import { connectPrivately } from "../../system/process/private-socket.ts";
import type { WindowSize } from "../../system/terminal/program-streams.ts";
import {
  type DetachedEnd,
  type Frame,
  FrameReader,
  frame,
  framesOf,
  type Hello,
  type OutputPlace,
} from "./detached-protocol.ts";
import { terminalKey } from "./terminal-key.ts";

const POINTS = { attach: failpoint("detached.attach"), stop: failpoint("detached.stop") };

/** A detached command that runs. */
export interface DetachedPlace {
  readonly stateDir: string;
  readonly planId: string;
  readonly exec: string;
}

/** What comes from a detached command. */
export interface AttachmentEvents {
  output(bytes: Buffer): void;
  /** A line that is said to users. */
  notice?(line: string): void;
  /** Where the next output begins, for a program that asked for a part of it. */
  at?(place: OutputPlace): void;
}

/** What a client says of itself first. */
export type Greeting = Pick<Hello, "size" | "part">;

/** A connection to the terminal of a detached command. */
export class Attachment implements Disposable {
  readonly #socket: Socket;
  /** `left`: by this side. `lost`: by the other, which has just ended, or was killed with the command. */
  readonly ended: Promise<DetachedEnd | "left" | "lost">;
  #hasLeft = false;
  readonly #flushes: (() => void)[] = [];

  private constructor(socket: Socket, events: AttachmentEvents) {
    this.#socket = socket;
    const ended = Promise.withResolvers<DetachedEnd | "left" | "lost">();
    this.ended = ended.promise;
    const reader = new FrameReader();
    const take = ({ kind, bytes }: Frame): void => {
      if (kind === "output") events.output(bytes);
      else if (kind === "notice") events.notice?.(bytes.toString());
      else if (kind === "at") events.at?.(JSON.parse(bytes.toString()) as OutputPlace);
      else if (kind === "flushed") this.#flushes.shift()?.();
      else if (kind === "end") ended.resolve(JSON.parse(bytes.toString()) as DetachedEnd);
    };
    socket.on("data", (bytes: Buffer) => {
      try {
        for (const each of reader.take(bytes)) take(each);
      } catch (thrown) {
        ended.reject(thrown);
        socket.destroy();
      }
    });
    // The end of the connection says the same.
    socket.on("error", () => socket.destroy());
    socket.once("close", () => ended.resolve(this.#hasLeft ? "left" : "lost"));
  }

  /** Undefined if nothing listens there: the command has just ended, or its process was killed. */
  static async open(
    { stateDir, planId, exec }: DetachedPlace,
    greeting: Greeting,
    events: AttachmentEvents,
  ): Promise<Attachment | undefined> {
    passFailpoint(POINTS.attach);
    const key = terminalKey(stateDir, planId);
    if (key === undefined) return undefined;
    const socket = await connectPrivately(terminalSocket(stateDir, planId));
    if (socket === undefined) return undefined;
    const hello: Hello = { key, exec, ...greeting };
    const attachment = new Attachment(socket, events);
    socket.write(frame("hello", hello));
    return attachment;
  }

  /** Asks the command to end. */
  stop(): void {
    passFailpoint(POINTS.stop);
    this.#socket.write(frame("stop", ""));
  }

  type(keys: Buffer): void {
    for (const each of framesOf("keys", keys)) this.#socket.write(each);
  }

  resize(size: WindowSize): void {
    this.#socket.write(frame("size", size));
  }

  /** Resolves when all that was sent has reached the command's terminal; never, if it ends before. */
  async flushed(): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#flushes.push(resolve);
    this.#socket.write(frame("flush", ""));
    await promise;
  }

  /** Leaves; the command goes on. */
  [Symbol.dispose](): void {
    this.#hasLeft = true;
    this.#socket.destroy();
  }
}
