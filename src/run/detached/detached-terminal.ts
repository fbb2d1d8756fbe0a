import { once } from "node:events";
import { createServer, type Socket } from "node:net";
import { join } from "node:path";
import { terminalSocket } from "../../plans/history/detached-command.ts";
import { isSecret } from "../../system/secret.ts";
import { listenAtSocket } from "../../system/state/service-socket.ts";
import { LastBytes } from "../../system/terminal/last-bytes.ts";
import type { WindowSize } from "../../system/terminal/program-streams.ts";
import { TerminalModes } from "../../system/terminal/terminal-modes.ts";
import type { SpawnedCommand } from "../spawn.ts";
import { DetachedClient } from "./detached-client.ts";
import { type DetachedEnd, type Frame, type Hello, helloFrom, sizeFrom } from "./detached-protocol.ts";
import { MOST_KEPT } from "./kept-output.ts";
import { ensureTerminalKey } from "./terminal-key.ts";

/** How many lines that are said to users are kept for them. */
const MOST_NOTICES = 100;
/** How long the command waits for a client that does not keep up. From then on, that one misses output. */
const PATIENCE_MS = 1000;
/** How long a client may take for the last output, when the command has ended. */
const LAST_MS = 5000;
/** How many may be connected that have not said hello. One more takes the place of the oldest. */
const MOST_SILENT = 64;
/** How long each of them may take for that. */
const SILENT_MS = 30_000;
/** Between the two sizes that make a full-screen program draw again. */
const REDRAW_MS = 100;

export interface DetachedParts {
  readonly stateDir: string;
  readonly command: SpawnedCommand;
  readonly size: WindowSize;
  /** A client asks for the end of the command. */
  readonly onStop: () => void;
}

/**
 * The terminal of a detached command, in the process that keeps it. Any number of clients can be attached:
 * all see the same and all can type, and the size is that of the last one that attached or changed its own.
 * The output is always read, so the command goes on whether one is attached or not.
 */
export class DetachedTerminal {
  readonly #parts: DetachedParts;
  readonly #clients = new Set<DetachedClient>();
  /** Those that have not said hello yet, oldest first. */
  readonly #silent = new Map<DetachedClient, NodeJS.Timeout>();
  readonly #last = new LastBytes(MOST_KEPT);
  readonly #modes = new TerminalModes();
  readonly #notices: string[] = [];
  readonly #server = createServer((socket) => this.#accept(socket));
  readonly #shown: Promise<unknown>;
  #listening: Disposable | undefined;
  #key = "";
  #size: WindowSize;
  #redraw: NodeJS.Timeout | undefined;

  private constructor(parts: DetachedParts) {
    this.#parts = parts;
    this.#size = parts.size;
    const { stdout } = parts.command;
    stdout.on("data", (bytes: Buffer) => this.#show(bytes));
    this.#shown = once(stdout, "close");
  }

  /** Listens for clients. The command is up. */
  static async open(parts: DetachedParts): Promise<DetachedTerminal> {
    const terminal = new DetachedTerminal(parts);
    await terminal.#listen();
    return terminal;
  }

  async #listen(): Promise<void> {
    const { stateDir, command } = this.#parts;
    const { folder, name } = terminalSocket(stateDir, command.planId);
    this.#key = ensureTerminalKey(stateDir, command.planId);
    this.#listening = await listenAtSocket(this.#server, join(folder, name));
  }

  /** Resolves when the command has written everything: what is kept of it. */
  async shown(): Promise<LastBytes> {
    await this.#shown;
    return this.#last;
  }

  /** Says something to those who are attached, now or later. */
  notice(line: string): void {
    this.#notices.push(line);
    if (this.#notices.length > MOST_NOTICES) this.#notices.shift();
    for (const client of this.#clients) client.notice(line);
  }

  /** Says the last word to those who are attached, and listens no more. */
  async end(how: DetachedEnd): Promise<void> {
    clearTimeout(this.#redraw);
    this.#server.close();
    this.#listening?.[Symbol.dispose]();
    for (const client of this.#silent.keys()) client.close();
    const slow = setTimeout(() => {
      for (const client of this.#clients) client.close();
    }, LAST_MS);
    await Promise.all([...this.#clients].map((client) => client.end(how)));
    clearTimeout(slow);
  }

  #accept(socket: Socket): void {
    const output = { last: this.#last, enter: () => this.#modes.enter() };
    const client: DetachedClient = new DetachedClient(socket, output, {
      frame: (frame) => this.#take(client, frame),
      gone: () => {
        this.#clients.delete(client);
        this.#noLongerSilent(client);
      },
    });
    this.#silent.set(
      client,
      setTimeout(() => client.close(), SILENT_MS),
    );
    const [oldest] = this.#silent.keys();
    if (oldest === undefined || this.#silent.size <= MOST_SILENT) return;
    this.#noLongerSilent(oldest);
    oldest.close();
  }

  #noLongerSilent(client: DetachedClient): void {
    clearTimeout(this.#silent.get(client));
    this.#silent.delete(client);
  }

  #take(client: DetachedClient, { kind, bytes }: Frame): void {
    const isKnown = this.#clients.has(client);
    if (kind === "hello" && !isKnown) this.#greet(client, helloFrom(bytes));
    // Only those who said hello are heard.
    else if (!isKnown) client.close();
    else if (kind === "keys") this.#type(client, bytes);
    else if (kind === "size") this.#resize(sizeFrom(bytes));
    else if (kind === "flush") this.#flush(client);
    else if (kind === "stop") this.#parts.onStop();
    else client.close();
  }

  #greet(client: DetachedClient, { key, exec, size, part }: Hello): void {
    if (!isSecret(key, this.#key) || exec !== this.#parts.command.exec) {
      client.close();
      return;
    }
    this.#noLongerSilent(client);
    this.#clients.add(client);
    client.show(this.#notices, part);
    if (size === undefined) return;
    const needsOther = this.#modes.isFullScreen && isSame(size, this.#size);
    // A program hears only of a size that changes, and then draws everything again.
    this.#resize(needsOther ? { ...size, rows: Math.max(1, size.rows - 1) } : size);
    if (needsOther) this.#redraw = setTimeout(() => this.#resize(size), REDRAW_MS);
  }

  #resize(size: WindowSize): void {
    clearTimeout(this.#redraw);
    this.#size = size;
    this.#parts.command.resize(size);
  }

  /** A command that does not read its keyboard keeps its clients waiting, and no memory grows. */
  #type(client: DetachedClient, keys: Buffer): void {
    const { stdin } = this.#parts.command;
    if (!stdin.writable) return;
    const takesMore = stdin.write(keys, () => client.listen(true));
    if (!takesMore) client.listen(false);
  }

  /** A command that has ended takes nothing more: its client hears of the end instead. */
  #flush(client: DetachedClient): void {
    const { stdin } = this.#parts.command;
    if (!stdin.writable) return;
    stdin.write(Buffer.alloc(0), (failed) => {
      if (!failed) client.flushed();
    });
  }

  #show(bytes: Buffer): void {
    this.#last.add(bytes);
    this.#modes.add(bytes);
    const before = new Set([...this.#clients].filter(({ isBehind }) => isBehind));
    for (const client of this.#clients) client.output(bytes);
    const slow = [...this.#clients].filter((client) => client.isBehind && !before.has(client));
    if (slow.length > 0) this.#waitFor(slow);
  }

  #waitFor(slow: readonly DetachedClient[]): void {
    const { stdout } = this.#parts.command;
    const until = performance.now() + PATIENCE_MS;
    stdout.pause();
    const look = setInterval(() => {
      const isWaiting = slow.some((client) => client.isBehind && this.#clients.has(client));
      if (isWaiting && performance.now() < until) return;
      clearInterval(look);
      stdout.resume();
    }, 5);
  }
}

function isSame(one: WindowSize, other: WindowSize): boolean {
  return one.rows === other.rows && one.columns === other.columns;
}
