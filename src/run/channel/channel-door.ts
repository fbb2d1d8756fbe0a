import { once } from "node:events";
import { createServer, type Server, type Socket } from "node:net";
import { setTimeout } from "node:timers/promises";
import { closeFile, duplicateFile } from "../../system/calls/handles.ts";
import { failpoint, passFailpoint } from "../../system/failpoints.ts";
import { ownProgram } from "../../system/process/own-program.ts";
import { endingWithUs, signalGroup, startProcess } from "../../system/process/start-process.ts";
import type { ChannelPlace } from "./channel-place.ts";

const POINTS = { start: failpoint("channel.start") };
const COMPILED = "node_modules/.cache/drydock-compiled";
const IN_SOURCE = "serve/channel/channel-main.ts";
/** The program of a channel from this file: in the source, in dist/, and in a bundle of the tests. */
const LOCATIONS = [
  { program: `../../${IN_SOURCE}`, compiled: `../../../${COMPILED}` },
  { program: "./channel.js", compiled: "./.compile-cache" },
  { program: "../channel.js", compiled: "../.compile-cache" },
  { program: `../../../src/${IN_SOURCE}`, compiled: `../../../${COMPILED}` },
];
/** What a caller can make it hold; beyond that it ends. channel-main.ts bounds the rest of its memory. */
const HEAP = "--max-old-space-size=512";
/** How long it may take to stop what it does; then it is killed, as by a crash. */
const GRACE_MS = 2_000;
/** A caller that makes it end again and again gets no other one: each counts its requests anew. */
const MOST_STARTS = 10;

type ChannelProcess = ReturnType<typeof startProcess>;

/**
 * Waits for the first caller of a channel, and starts the process that answers. If that process ends by
 * itself, because of what a caller made it do, the next caller gets another one.
 */
export class ChannelDoor {
  readonly #place: ChannelPlace;
  readonly #listener: number;
  #server: Server | undefined;
  #child: ChannelProcess | undefined;
  #isClosed = false;
  #starts = 0;

  /** `listener` is a descriptor of a socket that listens; the door closes it. */
  static open(place: ChannelPlace, listener: number): ChannelDoor {
    const door = new ChannelDoor(place, listener);
    door.#watch();
    return door;
  }

  private constructor(place: ChannelPlace, listener: number) {
    this.#place = place;
    this.#listener = listener;
  }

  async close(): Promise<void> {
    this.#server?.close();
    this.#shut();
    const child = this.#child;
    if (child === undefined) return;
    const ended = once(child, "exit");
    child.stdin?.end();
    const timer = new AbortController();
    const late = setTimeout(GRACE_MS, undefined, { signal: timer.signal }).catch(() => undefined);
    await Promise.race([ended, late.then(() => signalGroup(child, "SIGKILL"))]);
    await ended;
    timer.abort();
  }

  #watch(): void {
    // Node closes the descriptor that it listens at; the process gets the other one.
    const server = createServer({ pauseOnConnect: true }, (first) => {
      server.close();
      this.#start(first);
    });
    this.#server = server;
    server.on("error", () => server.close());
    server.listen({ fd: duplicateFile(this.#listener) }).unref();
  }

  #start(first: Socket): void {
    first.on("error", () => undefined);
    this.#starts += 1;
    passFailpoint(POINTS.start);
    const { file, args, environment } = ownProgram(import.meta.dirname, LOCATIONS);
    const program = endingWithUs({ file, args: [HEAP, ...args], environment }, "KILL");
    const child = startProcess(program, ["pipe", "ignore", "ignore", this.#listener, first]);
    this.#child = child;
    child.once("error", () => this.#ended());
    child.once("exit", () => this.#ended());
    // It is told by "exit" that nothing reads this.
    child.stdin?.on("error", () => undefined).write(`${JSON.stringify(this.#place)}\n`);
    first.destroy();
  }

  #ended(): void {
    this.#child = undefined;
    if (this.#starts >= MOST_STARTS) this.#shut();
    if (!this.#isClosed) this.#watch();
  }

  /** From now on, the kernel refuses callers. */
  #shut(): void {
    if (!this.#isClosed) closeFile(this.#listener);
    this.#isClosed = true;
  }
}
