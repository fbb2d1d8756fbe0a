import { once } from "node:events";
import type { Readable } from "node:stream";
import { setTimeout as sleep } from "node:timers/promises";
import { DrydockError, StateError } from "../../core/errors/errors.ts";
import { SERVER_DOWN } from "../../database/server/server-errors.ts";
import type { ExecResult } from "../../run/exec.ts";
import type { SpawnedCommand } from "../../run/spawn.ts";
import type { TakenCall } from "../link/call-queue.ts";
import type { FleetLink } from "../link/fleet-link.ts";
import { OUTPUTS, PieceReader, PieceWriter, piecesOf } from "../link/piece-pipe.ts";

/** For so long its sender may be away before a command is ended: it may only have lost its connection. */
const AWAY_MS = 20_000;
const PAUSE_MS = 1_000;

interface Serving {
  readonly link: FleetLink;
  readonly call: TakenCall;
  /** Ends the command. */
  readonly ends: AbortController;
  /** The host is to end. */
  readonly stops: AbortSignal;
}

/**
 * A command that runs here for somebody on another host. While it runs, what it writes goes there in pieces,
 * and what its user types and the signals for it come from there. It ends with its user's process, and with
 * the service of this host.
 */
export async function serveCommand(
  { link, call, ends, stops }: Serving,
  start: (signal: AbortSignal) => Promise<SpawnedCommand>,
): Promise<ExecResult> {
  const other = call.sender.process;
  const over = new AbortController();
  const end = () => ends.abort();
  stops.addEventListener("abort", end, { once: true });
  try {
    const command = await start(ends.signal);
    const pipe = { link, key: call.key, other };
    const out = new PieceWriter({ ...pipe, kind: "output" });
    const reading = [
      feed(command, new PieceReader({ ...pipe, kind: "input" }), link, over.signal),
      obey(command, { link, call, ends }, new PieceReader({ ...pipe, kind: "signal" }), over.signal),
    ];
    await Promise.all([
      sendOutput(command.stdout, OUTPUTS.stdout, out, ends.signal),
      sendOutput(command.stderr, OUTPUTS.stderr, out, ends.signal),
      command.wait(),
    ]);
    over.abort();
    await Promise.all(reading);
    const result = await command.wait();
    if (stops.aborted && result.aborted === true) throw new Error("It was made to end.");
    return result;
  } catch (thrown) {
    if (!stops.aborted) throw thrown;
    throw new StateError(`The service of the host ${link.host} was ended, and the command with it.`, {
      hint: "Run it again when the service is up.",
      code: "HOST_AWAY",
      cause: thrown,
    });
  } finally {
    // Nothing that failed beside it may leave it running.
    ends.abort();
    over.abort();
    stops.removeEventListener("abort", end);
  }
}

async function sendOutput(
  stream: Readable,
  which: string,
  out: PieceWriter,
  ended: AbortSignal,
): Promise<void> {
  for await (const bytes of stream)
    for (const piece of piecesOf(bytes as Buffer))
      await reached(() => out.write(`${which}${piece}`, ended), ended);
}

/** Gives the command its input, until that ends or the command has. */
async function feed(
  { stdin }: SpawnedCommand,
  input: PieceReader,
  { bell }: FleetLink,
  over: AbortSignal,
): Promise<void> {
  // Who does not read its input has closed it, which is no failure.
  stdin.on("error", () => undefined);
  while (!over.aborted) {
    const { rings } = bell;
    const pieces = (await reached(() => input.read(), over)) ?? [];
    for (const piece of pieces) {
      if (piece === "") return void stdin.end();
      if (!stdin.write(Buffer.from(piece, "base64")) && !stdin.destroyed)
        await once(stdin, "drain", { signal: over }).catch(() => undefined);
    }
    if (pieces.length === 0) await input.more(rings, over);
  }
}

/** Passes on signals, and ends the command when its user's process is gone. */
async function obey(
  command: SpawnedCommand,
  { link, call, ends }: Pick<Serving, "link" | "call" | "ends">,
  signals: PieceReader,
  over: AbortSignal,
): Promise<void> {
  let seen = performance.now();
  while (!over.aborted) {
    const { rings } = link.bell;
    const names = (await reached(() => signals.read(), over)) ?? [];
    for (const name of names) command.kill(name as NodeJS.Signals);
    if (await reached(() => link.queue.isThere(call.sender.process), over)) seen = performance.now();
    else if (performance.now() - seen > AWAY_MS) ends.abort();
    if (names.length === 0) await signals.more(rings, over);
  }
}

/** Waits for a database that is out of reach, but not longer than the signal. */
async function reached<T>(action: () => Promise<T>, signal: AbortSignal): Promise<T | undefined> {
  for (;;) {
    try {
      return await action();
    } catch (thrown) {
      if (!(thrown instanceof DrydockError && thrown.code === SERVER_DOWN)) throw thrown;
      if (signal.aborted) return undefined;
      await sleep(PAUSE_MS, undefined, { signal }).catch(() => undefined);
    }
  }
}
