import { closeSync, createReadStream } from "node:fs";
import type { Socket } from "node:net";
import { failedWith } from "../calls/errno.ts";
import { check, lazyCalls } from "../calls/native.ts";
import { O_CLOEXEC } from "../calls/open-flags.ts";
import { StandardStream } from "./standard-stream.ts";

const pipes = lazyCalls({ pipe2: "int pipe2(void *pair, int flags)" });

/** Carries bytes between one of our standard streams and a pipe that a command has the other end of. */
export interface StreamPump {
  /** The command's end. */
  readonly descriptor: number;
  /** Begins, when the command has its end. */
  start(): void;
  /** Resolves when nothing more will come; rejects with what kept bytes from being carried. */
  finish(): Promise<void>;
}

/** From a pipe to one of our own streams. */
export function pumpOut(to: 1 | 2): StreamPump {
  const [reading, writing] = newPipe();
  const ended = Promise.withResolvers<void>();
  return {
    descriptor: writing,
    start: () => {
      closeSync(writing);
      const socket = newSocket(reading, "readable");
      const stream = new StandardStream(to);
      socket.on("data", (bytes: Buffer) => {
        try {
          stream.write(bytes);
        } catch (thrown) {
          // The command then finds its pipe closed, as it would find a full disk.
          ended.reject(thrown);
          socket.destroy();
        }
      });
      socket.once("close", () => ended.resolve());
    },
    finish: () => ended.promise,
  };
}

/** From our standard input to a pipe. What the command does not read any more is left. */
export function pumpIn(): StreamPump {
  const [reading, writing] = newPipe();
  let stop = () => closeSync(writing);
  return {
    descriptor: reading,
    start: () => {
      closeSync(reading);
      const socket = newSocket(writing, "writable");
      const file = createReadStream("", { fd: 0, autoClose: false });
      socket.once("error", (thrown: Error) => {
        file.destroy();
        if (!failedWith(thrown, "EPIPE", "ECONNRESET")) throw thrown;
      });
      file.pipe(socket);
      stop = () => {
        file.destroy();
        socket.destroy();
      };
    },
    finish: async () => stop(),
  };
}

/** Node's own pipes between processes are sockets, which can't be opened by their names in /dev/fd. */
function newPipe(): readonly [reading: number, writing: number] {
  const pair = Buffer.alloc(8);
  check(pipes.pipe2(pair, O_CLOEXEC), "pipe", "a standard stream");
  return [pair.readInt32LE(0), pair.readInt32LE(4)];
}

function newSocket(fd: number, end: "readable" | "writable"): Socket {
  const { Socket } = process.getBuiltinModule("node:net");
  return new Socket({ fd, readable: end === "readable", writable: end === "writable" });
}
