import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, describe, it } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { UsageError } from "../core/errors/errors.ts";
import { failedWith } from "./calls/errno.ts";
import { armFailpoints, FAILPOINT_ACTIONS, failpoint, passFailpoint } from "./failpoints.ts";

const SOURCE = JSON.stringify(new URL("./failpoints.ts", import.meta.url).href);
const ONE = failpoint("test.one");
const TWO = failpoint("test.two");

/** A process that passes an armed failpoint and says so before and after. */
const passing = (action: string) => [
  "--input-type=module",
  "-e",
  `import { writeSync } from "node:fs";
   import { armFailpoints, passFailpoint } from ${SOURCE};
   armFailpoints("test.one=${action}");
   writeSync(1, "before ");
   passFailpoint("test.one");
   writeSync(1, "after");`,
];

afterEach(() => armFailpoints(undefined));

describe("a failpoint", () => {
  it("does nothing unless it is armed", () => {
    assert.equal(passFailpoint(ONE), "go");
    armFailpoints("test.two=error");
    assert.equal(passFailpoint(ONE), "go");
    armFailpoints("");
    assert.equal(passFailpoint(TWO), "go");
  });

  for (const [action, code] of [
    ["error", "EIO"],
    ["enospc", "ENOSPC"],
    ["eacces", "EACCES"],
  ] as const) {
    it(`fails with ${code} by the action '${action}', and names itself`, () => {
      armFailpoints(`test.one=${action}`);
      assert.throws(
        () => passFailpoint(ONE),
        (thrown) =>
          failedWith(thrown, code) && thrown instanceof Error && thrown.message.includes("test.one"),
      );
    });
  }

  it("waits by the action 'delay'", () => {
    armFailpoints("test.one=delay");
    const began = performance.now();
    passFailpoint(ONE);
    assert.ok(performance.now() - began >= 95);
  });

  it("says that a step is to be left out by the action 'skip'", () => {
    armFailpoints("test.one=skip");
    assert.equal(passFailpoint(ONE), "skip");
    assert.equal(passFailpoint(TWO), "go");
  });

  it("kills the process by the action 'kill', with nothing run after it", () => {
    const { signal, stdout } = spawnSync(process.execPath, passing("kill"), { encoding: "utf8" });
    assert.deepEqual([signal, stdout], ["SIGKILL", "before "]);
  });

  it("leaves its name where it was asked to when it kills", () => {
    const folder = mkdtempSync(join(tmpdir(), "drydock-failpoints-"));
    try {
      const env = { ...process.env, DRYDOCK_FAILPOINT_KILLS: join(folder, "kills") };
      for (const action of ["kill", "delay", "kill"]) spawnSync(process.execPath, passing(action), { env });
      assert.equal(readFileSync(env.DRYDOCK_FAILPOINT_KILLS, "utf8"), "test.one\ntest.one\n");
    } finally {
      rmSync(folder, { recursive: true });
    }
  });

  it("stops the process by the action 'stop', until it is continued", { timeout: 30_000 }, async () => {
    const child = spawn(process.execPath, passing("stop"), { stdio: ["ignore", "pipe", "inherit"] });
    try {
      let output = "";
      child.stdout.setEncoding("utf8").on("data", (text: string) => {
        output += text;
      });
      while (stateOf(child.pid!) !== "T") await sleep(5);
      assert.equal(output, "before ");
      child.kill("SIGCONT");
      const [code] = await once(child, "close");
      assert.deepEqual([code, output], [0, "before after"]);
    } finally {
      child.kill("SIGKILL");
    }
  });

  it("acts every time, or with a number only at that pass", () => {
    armFailpoints("test.one=error,test.two:3=enospc");
    for (let pass = 0; pass < 3; pass += 1) assert.throws(() => passFailpoint(ONE));
    passFailpoint(TWO);
    passFailpoint(TWO);
    assert.throws(
      () => passFailpoint(TWO),
      (thrown) => failedWith(thrown, "ENOSPC"),
    );
    passFailpoint(TWO);
  });

  it("counts from the beginning when it is armed again", () => {
    for (let time = 0; time < 2; time += 1) {
      armFailpoints("test.one:2=error");
      passFailpoint(ONE);
      assert.throws(() => passFailpoint(ONE));
    }
  });

  it("has a test here for every action", () => {
    assert.deepEqual([...FAILPOINT_ACTIONS].sort(), [
      "delay",
      "eacces",
      "enospc",
      "error",
      "kill",
      "skip",
      "stop",
    ]);
  });

  it("writes its name to the trace, before it acts, armed or not", () => {
    const folder = mkdtempSync(join(tmpdir(), "drydock-failpoints-"));
    try {
      const file = join(folder, "trace");
      armFailpoints("test.two=error", file);
      passFailpoint(ONE);
      assert.throws(() => passFailpoint(TWO));
      assert.equal(readFileSync(file, "utf8"), "failpoint test.one\nfailpoint test.two\n");
    } finally {
      rmSync(folder, { recursive: true });
    }
  });

  for (const wrong of [
    "test.one",
    "test.one=",
    "test.one=explode",
    "=kill",
    "test.one:x=kill",
    "Test=kill",
    "test.one:0=kill",
    "a=kill,,b=kill",
    "a b=kill",
  ]) {
    it(`is refused if it is written as '${wrong}', with the words that are right`, () => {
      assert.throws(
        () => armFailpoints(wrong),
        (thrown) =>
          thrown instanceof UsageError &&
          thrown.hint.includes("name[:nth]=action") &&
          thrown.hint.includes("enospc"),
      );
    });
  }
});

function stateOf(pid: number): string | undefined {
  const stat = readFileSync(`/proc/${pid}/stat`, "latin1");
  return stat.slice(stat.lastIndexOf(")") + 2).split(" ")[0];
}
