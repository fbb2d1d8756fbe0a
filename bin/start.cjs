/*
 * The first file that Node reads. Any Node must be able to parse it, so that one that is too old says so
 * instead of failing on syntax or modules that it does not know: nothing newer than `import()`, no import
 * statement, and nothing loaded before the check.
 */
const version = process.versions.node;
if (Number.parseInt(version, 10) < 24) {
  process.stderr.write(
    `drydock needs Node 24 or newer, but this is Node ${version} (${process.execPath}).\n`,
  );
  process.stderr.write(
    "Put a newer Node first on PATH, or run 'npm ci' in a checkout of Drydock, which brings its own.\n",
  );
  process.exit(2);
}

const { existsSync } = require("node:fs");
const dist = `${__dirname}/../dist`;

if (process.env.DRYDOCK_FROM_SOURCE || !existsSync(`${dist}/program/cli.js`)) {
  void import("../src/cli/main.ts");
} else {
  // Traces of the bundle point into the source. Reading the maps is slow, and so is a trace for each file
  // that is looked for and not there: only a user who asks for traces pays.
  if (process.argv.includes("--debug")) process.setSourceMapsEnabled(true);
  else Error.stackTraceLimit = 0;
  const { keep, load } = require("./compiled.cjs");
  const { finished, leave } = load("cli.js");
  void finished.then(({ hasOpened }) => {
    // Help and wrong use call little of the program: what they compile is not worth keeping.
    if (hasOpened) keep();
    // With nothing left to wait for, the kernel is quicker than Node, which takes its memory apart piece by
    // piece.
    if (process.getActiveResourcesInfo().length === 0) leave();
  });
}
