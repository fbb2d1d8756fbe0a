/*
 * The floor of `drydock run -- true`: what no program of this Node can leave out that does the same job, as
 * root, and nothing else. It knows beforehand all that Drydock has to find out, checks nothing, plans
 * nothing, recovers nothing, and has no view, only as many mounts.
 *
 * node FLAGS start-floor.cjs KOFFI FOLDER
 *
 * 1. It loads koffi, and makes the copy that becomes the command, as forked-launcher.ts does.
 * 2. It records a plan: three durable commits in a database with a log, and the end of both, which are seven
 *    flushes.
 * 3. It makes the folders of a sandbox and of three scratch layers.
 * 4. The copy makes its mounts, four of them overlays, and becomes the shell that starts `true` with one
 *    right less.
 * 5. It removes the folders again.
 */
const { closeSync, mkdirSync, readSync, rmSync, writeSync } = require("node:fs");
const { DatabaseSync } = require("node:sqlite");

const [, , koffiFile, folder] = process.argv;
const OVERLAYS = ["sandbox", "home", "tmp", "var-tmp"];
const BINDS = 43;
const MADV_DOFORK = 11;
const HIGHEST_ADDRESS = 2 ** 47 - 2 ** 32;
const NEW_PIDS_AND_IPC = 0x2800_0000;
const NEW_MOUNTS = 0x2_0000;
const SIGCHLD = 17;
const SYS_CLONE = process.arch === "arm64" ? 220 : 56;
const PRIVATE = 0x4_4000;
const BIND = 0x1000;

const addon = { exports: {} };
process.dlopen(addon, koffiFile);
const c = addon.exports.load(null);
const call = {
  madvise: c.func("int madvise(uint64_t address, uint64_t size, int advice)"),
  clone: c.func("long syscall(long number, uint64_t flags, uint64_t a, uint64_t b, uint64_t c, uint64_t d)"),
  pipe: c.func("int pipe(void *pair)"),
  unshare: c.func("int unshare(int flags)"),
  mount: c.func("int mount(str source, str target, str type, unsigned long flags, str options)"),
  execve: c.func("int execve(str path, str *arguments, str *variables)"),
  waitpid: c.func("int waitpid(int pid, void *status, int options)"),
  exit: c.func("void _exit(int code)"),
};

const [told, tell] = pipe();
call.madvise(0x1_0000, HIGHEST_ADDRESS - 0x1_0000, MADV_DOFORK);
const copy = must(call.clone(SYS_CLONE, NEW_PIDS_AND_IPC | SIGCHLD, 0, 0, 0, 0), "clone");
if (copy === 0) become();

const database = new DatabaseSync(`${folder}/floor.db`);
database.exec("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; CREATE TABLE IF NOT EXISTS t (v)");
for (const value of [1, 2]) database.exec(`INSERT INTO t VALUES (${value})`);
const layers = `${folder}/layers`;
for (const name of OVERLAYS)
  for (const part of ["upper", "work", "merged"]) mkdirSync(`${layers}/${name}/${part}`, { recursive: true });
writeSync(tell, "1");
const status = Buffer.alloc(4);
call.waitpid(copy, status, 0);
rmSync(layers, { recursive: true });
database.exec("INSERT INTO t VALUES (3)");
database.close();
process.exit(status.readInt32LE() === 0 ? 0 : 1);

/** The life of the copy. */
function become() {
  readSync(told, Buffer.alloc(1));
  must(call.unshare(NEW_MOUNTS), "unshare");
  must(call.mount(null, "/", null, PRIVATE, null), "mount /");
  for (const name of OVERLAYS) {
    const at = `${folder}/layers/${name}`;
    const options = `lowerdir=/usr,upperdir=${at}/upper,workdir=${at}/work,volatile`;
    must(call.mount("overlay", `${at}/merged`, "overlay", 0, options), "mount an overlay");
  }
  for (let at = 0; at < BINDS; at += 1) must(call.mount("/usr", "/usr", null, BIND, null), "mount");
  for (const fd of [told, tell]) closeSync(fd);
  const script = "(exec /usr/bin/setpriv --bounding-set=-wake_alarm -- /usr/bin/true); exit $?";
  call.execve("/bin/sh", ["sh", "-c", script, null], [null]);
  call.exit(1);
}

function pipe() {
  const pair = Buffer.alloc(8);
  must(call.pipe(pair), "pipe");
  return [pair.readInt32LE(0), pair.readInt32LE(4)];
}

/** A copy has nobody to tell but its standard error. */
function must(result, what) {
  if (result < 0) {
    writeSync(2, `${what} failed\n`);
    call.exit(1);
  }
  return result;
}
