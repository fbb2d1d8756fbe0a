import type { Readable, Writable } from "node:stream";
import { BoundedOutput, MOST_LOGGED } from "../system/terminal/bounded-output.ts";
import { PipedStreams, TerminalStreams, type WindowSize } from "../system/terminal/program-streams.ts";
import type { ExecRequest, ExecResult, StartedCommand } from "./exec.ts";
import type { Runs } from "./runs.ts";

/** A command whose streams the program reads and writes itself. */
export interface SpawnRequest extends Omit<ExecRequest, "stdout"> {
  /** Gives the command a terminal of its own, of this size. Default: three pipes. */
  readonly terminal?: WindowSize;
}

/** A command that runs, with its streams. Leaving the scope of `await using` ends it. */
export interface SpawnedCommand extends AsyncDisposable {
  readonly planId: string;
  /** Its id in the history of the plan. */
  readonly exec: string;
  /** Ending it is the end of input; at a terminal, the key for that. */
  readonly stdin: Writable;
  /** Output that the caller does not read keeps the command waiting. */
  readonly stdout: Readable;
  /** At a terminal both outputs are one, and this is empty. */
  readonly stderr: Readable;
  /** Sends a signal to the command. Default: SIGTERM. SIGKILL ends everything that it started too. */
  kill(signal?: NodeJS.Signals): void;
  /** Sets the window size of the command's terminal. */
  resize(size: WindowSize): void;
  /** How it ended. Its output may not be read yet. */
  wait(): Promise<ExecResult>;
}

/** How a command is spawned, beside what its caller asks for. */
export interface SpawnHow {
  /** Whether the history keeps what it writes. Default: yes. */
  readonly output?: boolean;
  /** It is detached: exec.ts. Default: no. */
  readonly detached?: boolean;
}

/** Starts a command with streams for this program. */
export async function spawn(
  runs: Runs,
  plan: string | undefined,
  { terminal, ...request }: SpawnRequest,
  { output: isLogged = true, detached = false }: SpawnHow = {},
): Promise<SpawnedCommand> {
  const opened: (PipedStreams | TerminalStreams)[] = [];
  const openStreams = (): PipedStreams | TerminalStreams => {
    const kept = isLogged ? new BoundedOutput(MOST_LOGGED) : undefined;
    const streams = terminal === undefined ? new PipedStreams(kept) : new TerminalStreams(terminal, kept);
    opened.push(streams);
    return streams;
  };
  const started = await runs.start(plan, { ...request, openStreams, detached });
  // Those before were of launchers that had to start again.
  const streams = opened.at(-1) as PipedStreams | TerminalStreams;
  return spawned(started, streams);
}

function spawned(started: StartedCommand, streams: PipedStreams | TerminalStreams): SpawnedCommand {
  const { stdin, stdout, stderr } = streams;
  return {
    planId: started.planId,
    exec: started.exec,
    ...{ stdin, stdout, stderr },
    kill: (signal = "SIGTERM") => (signal === "SIGKILL" ? started.kill() : started.signal(signal)),
    resize: (size) => {
      if (streams instanceof TerminalStreams) streams.resize(size);
    },
    wait: async () => await started.ended,
    [Symbol.asyncDispose]: async () => {
      started.kill();
      for (const stream of [stdin, stdout, stderr]) stream.destroy();
      await started.ended;
    },
  };
}
