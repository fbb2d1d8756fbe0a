import { readdirSync } from "node:fs";
import { calls } from "./native.ts";

const F_GETFD = 1;
const F_SETFD = 2;
const FD_CLOEXEC = 1;
const OPEN_ON_EXEC = 0;

/**
 * Starts a process that gets no descriptor but those it is given. What this process was itself started with, a folder or a lock of the
 * user's shell, would otherwise be passed on too: a way out of namespaces, and held for as long as that process lives.
 */
export function withoutInherited<T>(start: () => T): T {
  const inherited = readdirSync("/proc/self/fd")
    .map(Number)
    .filter((fd) => fd > 2 && calls.fcntl(fd, F_GETFD, 0) === OPEN_ON_EXEC);
  for (const fd of inherited) calls.fcntl(fd, F_SETFD, FD_CLOEXEC);
  try {
    return start();
  } finally {
    // Other processes that the program we are part of starts may well be meant to have them.
    for (const fd of inherited) calls.fcntl(fd, F_SETFD, OPEN_ON_EXEC);
  }
}
