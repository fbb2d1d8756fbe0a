import { createHash } from "node:crypto";
import { closeSync, constants, mkdirSync, openSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { bytesFromPath } from "../../core/paths/byte-path.ts";
import { failpoint, passFailpoint } from "../failpoints.ts";
import { tryLock } from "./lock.ts";

const LOCK = failpoint("host.lock");
const SERVE = failpoint("host.serve");
const TRY_AGAIN_MS = 20;

/**
 * One call at a time for each original, in all processes of a host: each takes a lock of the kernel, which
 * goes with the process, on a file for that original. The files stay, because whoever removed one could lock
 * another one of the same name.
 */
export class OriginalLocks {
  readonly #folder: string;
  readonly #last = new Map<string, Promise<unknown>>();

  constructor(stateDir: string) {
    this.#folder = join(stateDir, "originals");
  }

  async during<T>(original: string, action: () => Promise<T>): Promise<T> {
    const before = this.#last.get(original) ?? Promise.resolve();
    const turn = before.then(() => this.#locked(original, action));
    const ended = turn.catch(() => undefined);
    this.#last.set(original, ended);
    try {
      return await turn;
    } finally {
      if (this.#last.get(original) === ended) this.#last.delete(original);
    }
  }

  async #locked<T>(original: string, action: () => Promise<T>): Promise<T> {
    passFailpoint(LOCK);
    mkdirSync(bytesFromPath(this.#folder), { recursive: true, mode: 0o700 });
    const name = createHash("sha256").update(original).digest("hex").slice(0, 32);
    using lock = openLock(join(this.#folder, `${name}.lock`));
    while (!tryLock(lock)) await sleep(TRY_AGAIN_MS);
    return await action();
  }
}

/** The lock by which one process at a time serves a host; undefined if another one does. */
export function lockOfService(stateDir: string): Disposable | undefined {
  passFailpoint(SERVE);
  const lock = openLock(join(stateDir, "host.lock"));
  if (tryLock(lock)) return lock;
  lock[Symbol.dispose]();
  return undefined;
}

/** A file to be locked, open; the lock goes when it is closed. */
function openLock(path: string) {
  const flags = constants.O_RDWR | constants.O_CREAT | constants.O_NOFOLLOW;
  const fd = openSync(bytesFromPath(path), flags, 0o600);
  return { fd, path, [Symbol.dispose]: () => closeSync(fd) };
}
