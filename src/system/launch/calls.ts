import { lazyCalls } from "../calls/native.ts";

/** Numbers of system calls, equal on every processor. */
export const OPEN_TREE = 428;
export const OPENAT2 = 437;
export const MOUNT_SETATTR = 442;
export const LANDLOCK_CREATE_RULESET = 444;
export const LANDLOCK_RESTRICT_SELF = 446;

/** The system calls that only a launcher needs. */
export const launchCalls = lazyCalls({
  openTree: "long syscall(long number, int folder, const void *path, uint32_t flags)",
  mountSetattr:
    "long syscall(long number, int folder, const void *path, uint32_t flags, const void *attributes, size_t size)",
  openat2: "long syscall(long number, int folder, const void *path, const void *how, size_t size)",
  pivotRoot: "long syscall(long number, const void *root, const void *old)",
  unshare: "int unshare(int flags)",
  setns: "int setns(int fd, int type)",
  open: "int open(const void *path, int flags, int mode)",
  fchdir: "int fchdir(int fd)",
  chdir: "int chdir(const void *path)",
  prctl: "int prctl(int option, uint64_t a, uint64_t b, uint64_t c, uint64_t d)",
  capset: "int capset(const void *header, const void *data)",
  seccomp: "long syscall(long number, uint32_t operation, uint32_t flags, const void *program)",
  landlockCreate: "long syscall(long number, const void *attributes, size_t size, uint32_t flags)",
  landlockRestrict: "long syscall(long number, int ruleset, uint32_t flags)",
  getrlimit: "int getrlimit(int resource, void *limit)",
  setrlimit: "int setrlimit(int resource, const void *limit)",
  signal: "uintptr_t signal(int number, uintptr_t handler)",
  closeRange: "int close_range(uint32_t first, uint32_t last, int flags)",
  dup2: "int dup2(int from, int to)",
  setsid: "int setsid()",
  socket: "int socket(int family, int type, int protocol)",
  bind: "int bind(int fd, const void *address, uint32_t size)",
  listen: "int listen(int fd, int backlog)",
  execve: "int execve(const void *path, const void *arguments, const void *environment)",
});
