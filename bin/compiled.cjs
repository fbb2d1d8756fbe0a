/*
 * Loads modules of dist/program with what V8 compiled of them in an earlier process. Node keeps compiled code
 * too (module.enableCompileCache), but only what is compiled before a module runs: every command compiles the
 * functions that it calls anew, for a quarter of its time. Here they are kept after they were called.
 *
 * Each command has a folder of its own with what it called: one folder for all would have what the first
 * command called, and no more. A command that has none yet takes what a run has kept.
 *
 * Compiled code is kept beside the code itself, never in a shared or temporary folder: a process that can
 * plant something there can change the program anyway. Where it can't be written it is not kept.
 */
const {
  closeSync,
  existsSync,
  fstatSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readSync,
  renameSync,
  statSync,
  writeSync,
} = require("node:fs");
const { Script } = require("node:vm");

/** Without a further folder in it, so that a path is put together without looking at it. */
const program = `${__dirname.slice(0, -"/bin".length)}/dist/program`;
const kept = `${__dirname}/../dist/.compile-cache/${process.version}-${process.arch}`;
const RUN = "run";
const command = commandOf(process.argv.slice(2));
/** Small, started for every command, and nearly all of it is called. */
const LAUNCHER = "launch.js";
/** How a module of the program names another. */
const OWN = /^[.][/][^/]+[.]js$/;
const HEAD = Buffer.from("(function (exports, require, module, __filename, __dirname) {");
const TAIL = Buffer.from("\n})");
const NOTHING = Buffer.alloc(0);
const modules = new Map();
/** More than the largest file: what is not used takes no memory. */
let memory = Buffer.allocUnsafeSlow(1 << 20);

/** What a module exports. It is loaded once, whatever asks for it, so that all meet the same classes. */
exports.load = function load(name) {
  // A program that uses the library may run on any Node, and an older one would fail somewhere on the way.
  if (Number.parseInt(process.versions.node, 10) < 24)
    throw new Error(
      `drydock needs Node 24 or newer, but this is Node ${process.versions.node} (${process.execPath}).`,
    );
  return loadFile(name).exports;
};

/** Keeps what is compiled by now of every module of which nothing is kept yet. */
exports.keep = function keep() {
  const fresh = [...modules.values()].filter(({ isFresh }) => isFresh);
  if (fresh.length === 0) return;
  try {
    for (const folder of [RUN, command]) mkdirSync(`${kept}/${folder}`, { recursive: true });
    for (const { script, place } of fresh) write(place, script);
    keepWhole(`${program}/${LAUNCHER}`);
  } catch {
    // The program may be another user's, or the disk full: the next command compiles again.
  }
};

function loadFile(name) {
  const known = modules.get(name);
  if (known !== undefined) return known;
  const file = `${program}/${name}`;
  const module = { exports: {} };
  modules.set(name, module);
  // Node finds the source map of a trace only for what it loads itself.
  if (process.sourceMapsEnabled) {
    module.exports = require(file);
    return module;
  }
  let foreign;
  const requireFrom = (other) => {
    if (OWN.test(other)) return loadFile(other.slice(2)).exports;
    // Few modules load anything else, and it takes a millisecond to know how.
    foreign ??= require("node:module").createRequire(file);
    return foreign(other);
  };
  module.place = placeOf(file, command);
  const source = sourceOf(file);
  const own = readIfThere(module.place);
  // What V8 refuses was compiled with other flags. It stays: two users with different flags would write it in
  // turn.
  module.isFresh = own === undefined;
  const cachedData = own ?? (command === RUN ? undefined : readIfThere(placeOf(file, RUN)));
  module.script = new Script(source, { filename: file, cachedData });
  module.script.runInThisContext()(module.exports, requireFrom, module, file, program);
  return module;
}

/**
 * The text of a module as that of a function. It is put together as bytes: as strings, V8 would hold the
 * whole text twice, and collect garbage before a small command has ended. A bundle has no character beyond
 * ASCII.
 */
function sourceOf(path) {
  return bytesOf(path, HEAD, TAIL).latin1Slice();
}

/**
 * The content of a file, between others, until the next call: all are read into the same memory, because the
 * kernel takes longer to give new memory than to read them.
 */
function bytesOf(path, head = NOTHING, tail = NOTHING) {
  const file = openSync(path);
  try {
    const { size } = fstatSync(file);
    const whole = head.length + size + tail.length;
    if (memory.length < whole) memory = Buffer.allocUnsafeSlow(whole);
    memory.set(head);
    for (let at = 0; at < size; ) {
      const length = readSync(file, memory, head.length + at, size - at, at);
      if (length === 0) throw new Error(`${path} became shorter while it was read.`);
      at += length;
    }
    memory.set(tail, head.length + size);
    return memory.subarray(0, whole);
  } finally {
    closeSync(file);
  }
}

/**
 * Compiles all of a module, also what is not called, which it can't keep itself: at its end it is another
 * program.
 */
function keepWhole(file) {
  const place = placeOf(file, RUN);
  if (existsSync(place)) return;
  const { setFlagsFromString } = require("node:v8");
  setFlagsFromString("--no-lazy");
  const script = new Script(sourceOf(file), { filename: file });
  setFlagsFromString("--lazy");
  write(place, script);
}

/** The name of the folder for a command: its words, if they begin the arguments. */
function commandOf([group, name]) {
  const words = group === "plan" ? [group, name] : [group];
  return words.every((word) => /^[a-z]+(?:-[a-z]+)*$/.test(word ?? "")) ? words.join("-") : RUN;
}

/**
 * V8 sees whether another version of it or other flags compiled this, but not whether the source has changed
 * since.
 */
function placeOf(file, folder) {
  const { size, mtimeMs } = statSync(file);
  return `${kept}/${folder}/${file.slice(program.length + 1)}-${size}-${mtimeMs}`;
}

function readIfThere(path) {
  try {
    return bytesOf(path);
  } catch {
    return undefined;
  }
}

/**
 * No process meets half of it and no power cut leaves half of it: V8 would believe what it reads, and crash.
 */
function write(path, script) {
  const fresh = `${path}.${process.pid}`;
  const file = openSync(fresh, "wx", 0o644);
  try {
    writeSync(file, script.createCachedData());
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
  renameSync(fresh, path);
}
