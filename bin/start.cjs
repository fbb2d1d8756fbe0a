/*
 * The first file that Node reads. Any Node must be able to parse it, so that one that is too old says so instead of
 * failing on syntax or modules that it does not know: nothing newer than `import()`, no import statement, and nothing
 * loaded before the check.
 */
const version = process.versions.node;
if (Number.parseInt(version, 10) < 24) {
  process.stderr.write(`drydock needs Node 24 or newer, but this is Node ${version} (${process.execPath}).\n`);
  process.stderr.write(
    "Put a newer Node first on PATH, or run 'npm ci' in a checkout of Drydock, which brings its own.\n",
  );
  process.exit(2);
}

const { existsSync } = require("node:fs");
const { enableCompileCache } = require("node:module");
const dist = `${__dirname}/../dist`;

if (process.env.DRYDOCK_FROM_SOURCE || !existsSync(`${dist}/cli.js`)) {
  void import("../src/cli/main.ts");
} else {
  // Traces of the bundle point into the source. Reading the maps is slow, so only who asked for traces pays.
  if (process.argv.includes("--debug")) process.setSourceMapsEnabled(true);
  // Compiled code is kept beside the code itself, never in a shared or temporary folder: whoever can plant something
  // there can change the program anyway. Where it can't be written it is simply not kept.
  enableCompileCache(`${dist}/.compile-cache`);
  void import("../dist/cli.js");
}
