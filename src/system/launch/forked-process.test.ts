import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { describe, it } from "node:test";
import { FORKING_FLAGS } from "./forked-process.ts";

const here = (path: string) => JSON.stringify(new URL(path, import.meta.url).href);

/** Forks copies that each allocate until V8 has collected several times, and counts those that say so. */
const FORKS = `
  import { closeSync, readSync, writeSync } from "node:fs";
  import { fork } from ${here("./forked-process.ts")};
  import { passDescriptor, socketPair } from ${here("../process/passed-descriptor.ts")};
  const work = (descriptor) => {
    let kept = [];
    for (let at = 0; at < 60000; at += 1) {
      kept.push({ at, bytes: Buffer.alloc(10), number: BigInt(at) });
      if (kept.length > 20000) kept = [];
    }
    writeSync(descriptor, "done");
  };
  let done = 0;
  for (let copy = 0; copy < 10; copy += 1) {
    const [ours, theirs] = socketPair();
    const { socket } = fork("copy", () => undefined, work);
    passDescriptor(socket, theirs);
    for (const descriptor of [socket, theirs]) closeSync(descriptor);
    done += readSync(ours, Buffer.alloc(8)) === 4 ? 1 : 0;
    closeSync(ours);
  }
  console.log(done);
`;

describe("A forked process", () => {
  it("gets its descriptor even if its parent closes all at once, and goes on when V8 collects", () => {
    const args = [...FORKING_FLAGS, "--conditions=drydock-source", "--input-type=module", "-e", FORKS];
    const { stdout, stderr } = spawnSync(process.execPath, args, { encoding: "utf8", timeout: 60_000 });
    assert.equal(stdout, "10\n", stderr);
  });

  it("can be made by the commands that start one", () => {
    const start = readFileSync(new URL("../../../bin/drydock", import.meta.url), "utf8");
    assert.ok(start.includes(`"${FORKING_FLAGS.join(" ")}"`));
  });

  it("is given up if it does not come up", () => {
    const script = `import { fork } from ${here("./forked-process.ts")};
      console.log(fork("copy", () => { throw new Error("not today") }, () => undefined));`;
    const args = [...FORKING_FLAGS, "--conditions=drydock-source", "--input-type=module", "-e", script];
    assert.equal(spawnSync(process.execPath, args, { encoding: "utf8" }).stdout, "undefined\n");
  });
});
