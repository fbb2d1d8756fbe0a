import { chmodSync } from "node:fs";
import { connect, type Server } from "node:net";
import { BusyError, StateError } from "../../core/errors/errors.ts";
import { baseName, displayPath, parentPath } from "../../core/paths/byte-path.ts";
import { failedWith } from "../calls/errno.ts";
import { Folder } from "../calls/folder.ts";
import { realPathOf } from "../data/locations.ts";
import { failpoint, passFailpoint } from "../failpoints.ts";
import { takeLock } from "./lock.ts";
import { ensureStateFolder } from "./state-folder.ts";

/**
 * The socket of a service, which only its user can reach (mode 0600). A socket that a dead server left is
 * replaced; while a server lives, another one is refused. The lock of the folder keeps two servers that start
 * at once from replacing each other's socket.
 *
 * The name of a socket has at most 107 bytes, and a state directory can be deeper than that. So it is reached
 * through a descriptor of its folder.
 */
const POINTS = {
  folder: failpoint("service.folder"),
  stale: failpoint("service.stale"),
  listen: failpoint("service.listen"),
};

const OTHERS_CAN_WRITE = 0o022;
const STICKY = 0o1000;

/**
 * Listens at this path until the result is disposed of, which comes after the server is closed. Sockets with
 * such names that dead servers left beside it are removed.
 */
export async function listenAtSocket(server: Server, path: string, swept?: RegExp): Promise<Disposable> {
  const at = parentPath(path) || "/";
  ensureStateFolder(POINTS.folder, at);
  const folder = Folder.open(realPathOf(at) ?? at);
  try {
    refuseShared(folder);
    // With its own descriptor: the one by which the socket is reached stays open.
    using locked = folder.duplicate();
    takeLock(locked);
    for (const name of swept === undefined ? [] : folder.names().filter((each) => swept.test(each)))
      if (name !== baseName(path) && !(await answers(pathIn(folder, name)))) removeStale(folder, name);
    await bind(server, folder, baseName(path));
    return folder;
  } catch (thrown) {
    folder.close();
    throw thrown;
  }
}

async function bind(server: Server, folder: Folder, name: string): Promise<void> {
  const path = pathIn(folder, name);
  const facts = folder.facts(name);
  if (facts !== undefined) {
    if (facts.kind !== "socket")
      throw new StateError(`${displayPath(folder.label(name))} is no socket.`, {
        hint: "Move it away, or choose another path.",
      });
    if (await answers(path))
      throw new BusyError(`A server is at ${displayPath(folder.label(name))} already.`, {
        holder: "another server",
        hint: "Use that one, end it, or choose another path.",
      });
    removeStale(folder, name);
  }
  passFailpoint(POINTS.listen);
  const before = process.umask(0o177);
  try {
    // The socket is made before this call returns.
    const listening = Promise.withResolvers<void>();
    server.once("error", listening.reject);
    server.listen(path, listening.resolve);
    await listening.promise;
    server.off("error", listening.reject);
  } finally {
    process.umask(before);
  }
  chmodSync(path, 0o600);
}

function pathIn({ fd }: Folder, name: string): string {
  return `/proc/self/fd/${fd}/${name}`;
}

function removeStale(folder: Folder, name: string): void {
  folder.removeFile(POINTS.stale, name);
}

function refuseShared(folder: Folder): void {
  const { mode } = folder.ownFacts();
  if ((mode & OTHERS_CAN_WRITE) === 0 || (mode & STICKY) !== 0) return;
  throw new StateError(`Other users can write to ${displayPath(folder.path)}, and replace the socket.`, {
    hint: "Choose a path in a folder of your own.",
  });
}

/** Whether a process listens there. */
async function answers(path: string): Promise<boolean> {
  const { promise, resolve, reject } = Promise.withResolvers<boolean>();
  const socket = connect(path);
  socket.once("connect", () => resolve(true));
  socket.once("error", (error) =>
    failedWith(error, "ECONNREFUSED", "ENOENT") ? resolve(false) : reject(error),
  );
  try {
    return await promise;
  } finally {
    socket.destroy();
  }
}
