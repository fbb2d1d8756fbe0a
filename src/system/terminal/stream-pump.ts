import { closeSync, createReadStream } from "node:fs";
import type { Socket } from "node:net";
import { failedWith } from "../calls/errno.ts";
import { check, lazyCalls } from "../calls/native.ts";
import { O_CLOEXEC } from "../calls/open-flags.ts";
import { StandardStream } from "./standard-stream.ts";

const pipes = lazyCalls({ pipe2: "int pipe2(void *pair, int flags)" });

/** Copies bytes between one of our standard streams and a pipe of the command. */
export interface StreamPump {
  /** The command's end of the pipe. */
  readonly descriptor: number;
  /** Starts copying; call this when the command has its end. */
  start(): void;
  /** Resolves when everything is copied; rejects with the error that prevented it. */
  finish(): Promise<void>;
}

/** Copies from a pipe to one of our own streams. */
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
          // The command then finds its pipe closed, which stands for errors such as a full disk.
          ended.reject(thrown);
          socket.destroy();
        }
      });
      socket.once("close", () => ended.resolve());
    },
    finish: () => ended.promise,
  };
}

/** Copies from our standard input to a pipe, until the command stops reading. */
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
export function newPipe(): readonly [reading: number, writing: number] {
  const pair = Buffer.alloc(8);
  check(pipes.pipe2(pair, O_CLOEXEC), "pipe", "a standard stream");
  return [pair.readInt32LE(0), pair.readInt32LE(4)];
}

/** A stream of Node over one end of a pipe. */
export function newSocket(fd: number, end: "readable" | "writable"): Socket {
  const { Socket } = process.getBuiltinModule("node:net");
  return new Socket({ fd, readable: end === "readable", writable: end === "writable" });
}
