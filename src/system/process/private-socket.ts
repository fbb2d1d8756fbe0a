import { chmodSync, closeSync, constants, openSync, rmSync } from "node:fs";
import { connect, createServer, type Server, type Socket } from "node:net";
import { bytesFromPath } from "../../core/paths/byte-path.ts";
import { failedWith, unlessFailed } from "../calls/errno.ts";
import { type Failpoint, passFailpoint } from "../failpoints.ts";

/**
 * A socket in a folder of Drydock's own that only this user can reach. Each connection carries one line there
 * and one line back.
 *
 * The name of a socket has at most 107 bytes, and a state directory can be deeper than that. So the socket is
 * reached through a descriptor of its folder, by `/proc/self/fd`.
 */
const LONGEST_LINE = 1 << 30;

/** A socket and the folder that it is in. */
export interface SocketPlace {
  readonly folder: string;
  readonly name: string;
}

/** A server that answers each line with a line. `gone` aborts when the client no longer waits. */
export function lineServer(answer: (line: string, gone: AbortSignal) => Promise<string>): Server {
  return createServer({ allowHalfOpen: true }, (socket) => {
    // A client that is gone gets no answer; that is no error of ours.
    socket.on("error", () => socket.destroy());
    // A waiting client keeps its side open. If that ends, the client is dead.
    const gone = new AbortController();
    for (const event of ["end", "close"]) socket.once(event, () => gone.abort());
    void lineFrom(socket).then(async (line) => {
      if (line === undefined) socket.destroy();
      else socket.end(await answer(line, gone.signal));
    });
  });
}

/** Listens at a new name until it is closed, and answers each line with a line. */
export async function listenPrivately(
  point: Failpoint,
  folder: string,
  name: string,
  answer: (line: string, gone: AbortSignal) => Promise<string>,
): Promise<{ close(): void }> {
  return await listenIn(point, folder, name, lineServer(answer));
}

/** Lets a server listen at a name, in the place of a dead process that did. */
export async function listenIn(
  point: Failpoint,
  folder: string,
  name: string,
  server: Server,
): Promise<{ close(): void }> {
  const fd = openFolder(folder);
  const path = `/proc/self/fd/${fd}/${name}`;
  passFailpoint(point);
  rmSync(path, { force: true });
  const before = process.umask(0o177);
  try {
    await listening(server, path);
  } finally {
    process.umask(before);
  }
  chmodSync(path, 0o600);
  return {
    close: () => {
      server.close();
      closeSync(fd);
    },
  };
}

/**
 * Sends a line and waits for the answer. Undefined if no process listens, the listener dies before it
 * answers, or the signal ends the wait.
 */
export async function askPrivately(
  point: Failpoint,
  { folder, name }: SocketPlace,
  line: string,
  signal?: AbortSignal,
): Promise<string | undefined> {
  passFailpoint(point);
  const fd = unlessFailed(["ENOENT"], () => openFolder(folder));
  if (fd === undefined) return undefined;
  try {
    const socket = connect({ path: `/proc/self/fd/${fd}/${name}`, allowHalfOpen: true });
    const answered = lineFrom(socket);
    socket.write(line);
    const stop = () => socket.destroy();
    signal?.addEventListener("abort", stop);
    try {
      return await answered;
    } finally {
      signal?.removeEventListener("abort", stop);
      socket.destroy();
    }
  } catch (thrown) {
    if (failedWith(thrown, "ENOENT", "ECONNREFUSED", "ECONNRESET", "EPIPE")) return undefined;
    throw thrown;
  } finally {
    closeSync(fd);
  }
}

/**
 * A connection to a socket in a folder of Drydock's own, for more than one line. Undefined if no process
 * listens there.
 */
export async function connectPrivately({ folder, name }: SocketPlace): Promise<Socket | undefined> {
  const fd = unlessFailed(["ENOENT"], () => openFolder(folder));
  if (fd === undefined) return undefined;
  const socket = connect(`/proc/self/fd/${fd}/${name}`);
  try {
    await new Promise<void>((resolve, reject) => {
      socket.once("connect", resolve);
      socket.once("error", reject);
    });
    return socket;
  } catch (thrown) {
    if (failedWith(thrown, "ENOENT", "ECONNREFUSED")) return undefined;
    throw thrown;
  } finally {
    closeSync(fd);
  }
}

function openFolder(folder: string): number {
  return openSync(bytesFromPath(folder), constants.O_RDONLY | constants.O_DIRECTORY);
}

function listening(server: Server, path: string): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen(path, () => resolve());
  });
}

/** The first line; undefined if the other side ends before it is complete. */
function lineFrom(socket: Socket): Promise<string | undefined> {
  return new Promise((resolve, reject) => {
    const parts: Buffer[] = [];
    let length = 0;
    socket.on("data", (bytes: Buffer) => {
      parts.push(bytes);
      length += bytes.length;
      if (bytes.includes(10)) resolve(Buffer.concat(parts).toString().split("\n", 1)[0]);
      else if (length > LONGEST_LINE) resolve(undefined);
    });
    socket.once("end", () => resolve(undefined));
    socket.once("close", () => resolve(undefined));
    socket.once("error", reject);
  });
}
