import { chmodSync, closeSync, constants, openSync, rmSync } from "node:fs";
import { connect, createServer, type Server, type Socket } from "node:net";
import { bytesFromPath } from "../../core/paths/byte-path.ts";
import { failedWith, unlessFailed } from "../calls/errno.ts";
import { type Failpoint, passFailpoint } from "../failpoints.ts";
import { isSecret } from "../secret.ts";

/**
 * A socket in a folder of Drydock's own that only this user can reach. Each connection carries one line there
 * and one line back.
 *
 * The name of a socket has at most 107 bytes, and a state directory can be deeper than that. So the socket is
 * reached through a descriptor of its folder, by `/proc/self/fd`.
 */
const LONGEST_LINE = 1 << 30;
/** So long a caller has to say its key. */
const KEY_MS = 10_000;

/** A socket and the folder that it is in. */
export interface SocketPlace {
  readonly folder: string;
  readonly name: string;
}

/**
 * A server that answers each line with a line. `gone` aborts when the client no longer waits. With a key, a
 * caller that does not begin with it gets no answer, and nothing of what it sends is kept.
 */
export function lineServer(
  answer: (line: string, gone: AbortSignal) => Promise<string>,
  key?: string,
): Server {
  return createServer({ allowHalfOpen: true }, (socket) => {
    // A client that is gone gets no answer; that is no error of ours.
    socket.on("error", () => socket.destroy());
    // A waiting client keeps its side open. If that ends, the client is dead.
    const gone = new AbortController();
    for (const event of ["end", "close"]) socket.once(event, () => gone.abort());
    void lineFrom(socket, key).then(async (line) => {
      if (line === undefined) socket.destroy();
      else socket.end(await answer(line, gone.signal));
    });
  });
}

/** Listens at a new name until it is closed, and answers each line that begins with the key with a line. */
export async function listenPrivately(
  point: Failpoint,
  { folder, name }: SocketPlace,
  key: string,
  answer: (line: string, gone: AbortSignal) => Promise<string>,
): Promise<{ close(): void }> {
  return await listenIn(point, folder, name, lineServer(answer, key));
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

/**
 * The first line, without the key that it has to begin with; undefined if it does not, or the other side ends
 * before it is complete.
 */
function lineFrom(socket: Socket, key = ""): Promise<string | undefined> {
  return new Promise((resolve, reject) => {
    const wanted = Buffer.from(key);
    let hasKey = wanted.length === 0;
    if (!hasKey) socket.setTimeout(KEY_MS, () => resolve(undefined));
    const parts: Buffer[] = [];
    let length = 0;
    socket.on("data", (bytes: Buffer) => {
      parts.push(bytes);
      length += bytes.length;
      const isWhole = bytes.includes(10);
      if (!hasKey && (isWhole || length >= wanted.length)) {
        hasKey = isSecret(Buffer.concat(parts).toString("latin1", 0, wanted.length), key);
        socket.setTimeout(0);
        if (!hasKey) return resolve(undefined);
      }
      if (isWhole) resolve(Buffer.concat(parts).subarray(wanted.length).toString().split("\n", 1)[0]);
      else if (length > LONGEST_LINE) resolve(undefined);
    });
    socket.once("end", () => resolve(undefined));
    socket.once("close", () => resolve(undefined));
    socket.once("error", reject);
  });
}
