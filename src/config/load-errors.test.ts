import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { processorSeconds } from "../../test/support/processor-time.ts";
import { ConfigError } from "../core/errors/errors.ts";
import { loadConfig } from "./load.ts";
import { readConfigFile } from "./yaml/config-file.ts";

/**
 * load-errors.txt: `==> title`, the text of a config, `<== line:column: message`, `<== hint`, an empty line.
 */
const SCENARIO =
  /^==> (?<title>.*)\n(?<text>[\s\S]*?)<== (?<place>\d+:\d+): (?<message>.*)\n<== (?<hint>.*)\n$/gm;
const scenarios = Array.from(
  readFileSync(new URL("./load-errors.txt", import.meta.url), "utf8").matchAll(SCENARIO),
  ({ groups }) => groups as { title: string; text: string; place: string; message: string; hint: string },
);

describe("loadConfig, on a file that is wrong", () => {
  let folder: string;
  let file: string;

  before(() => {
    folder = mkdtempSync(join(tmpdir(), "drydock-config-"));
    file = join(folder, "drydock.yaml");
  });
  after(() => rmSync(folder, { recursive: true, force: true }));

  function errorOf(text: string | Buffer): ConfigError {
    writeFileSync(file, text);
    try {
      loadConfig({
        file,
        text: readConfigFile(file)?.text ?? "",
        environment: { SET: "set", SECRET: "hunter2" },
      });
    } catch (thrown) {
      assert.ok(thrown instanceof ConfigError, String(thrown));
      assert.ok(thrown.message.startsWith(`${file}:${thrown.line}:${thrown.column}: `), thrown.message);
      assert.doesNotMatch(thrown.message + thrown.hint, /\n/);
      assert.deepEqual(thrown.details, { file, line: thrown.line, column: thrown.column });
      return thrown;
    }
    return assert.fail("nothing was thrown");
  }

  /** The message from the line on. */
  const saidOf = (text: string | Buffer) => errorOf(text).message.slice(file.length + 1);

  it("has a scenario for each title in the list", () => {
    const list = readFileSync(new URL("./load-errors.txt", import.meta.url), "utf8");
    assert.equal(scenarios.length, list.match(/^==> /gm)?.length);
  });

  for (const { title, text, place, message, hint } of scenarios) {
    it(`[X5] tells the place of ${title}, and what to do`, () => {
      const error = errorOf(text);
      assert.deepEqual([error.message, error.hint], [`${file}:${place}: ${message}`, hint]);
    });
  }

  it("[X5] tells the place of bytes that are not UTF-8", () => {
    assert.equal(saidOf(Buffer.from("sandbox:\n  a: \xff\n", "latin1")), "2:6: this is not UTF-8 text");
    assert.equal(saidOf(Buffer.from("\ufeffsandbox: {}", "utf16le")), "1:1: this is not UTF-8 text");
  });

  it("[X5] counts lines and columns right with Windows line ends, a byte order mark and letters beyond ASCII", () => {
    assert.match(saidOf("sandbox:\r\n  undo:\r\n    keeps: 7d\r\n"), /^3:5: unknown key keeps/);
    assert.match(saidOf("\ufeffcolour: 1\n"), /^1:1: unknown key colour/);
    assert.match(saidOf("# größe\nsandbox: { 'größe': 1 }\n"), /^2:12: unknown key größe in sandbox/);
  });

  it("[X5] refuses levels without end", () => {
    assert.match(saidOf("[".repeat(50_000)), /^1:\d+: nested too deeply/);
    assert.match(saidOf("- ".repeat(50_000)), /^1:\d+: nested too deeply/);
  });

  it("[X5] tells the first of several problems in the order of the file, and how many more there are", () => {
    const text =
      "resources:\n  a: { location: '${NOPE}' }\nsandbox:\n  strategy: x\n  colour: red\ncolour: red\n";
    assert.equal(saidOf(text), "2:19: the environment has no variable NOPE (and 3 more problems)");
    assert.equal(saidOf("a: 1\nb: 2\n"), "1:1: unknown key a (and 1 more problem)");
  });

  it("does not judge a value that it could not read", () => {
    assert.equal(saidOf("sandbox: { strategy: '${NOPE}' }\n"), "1:23: the environment has no variable NOPE");
  });

  it("never shows what a variable holds", () => {
    const { message, hint } = errorOf("sandbox: { strategy: '${SECRET}' }\n");
    assert.match(message, /cannot be "\$\{SECRET\}"$/);
    assert.doesNotMatch(message + hint, /hunter2/);
  });

  it("shows keys and values escaped and shortened, so that a message stays one short line", () => {
    assert.match(saidOf('"a\\nb\\e[31m": 1\n'), /unknown key a\\nb\\u001b\[31m$/);
    assert.match(
      saidOf(`sandbox: { strategy: "x\\n${"y".repeat(500)}" }\n`),
      /cannot be "x\\ny{50,60}\.\.\.$/,
    );
  });

  it("stops at aliases that repeat without measure", () => {
    const levels = Array.from({ length: 30 }, (_, at) => `  l${at + 1}: &l${at + 1} [*l${at}, *l${at}]\n`);
    const { message } = errorOf(`resources:\n  l0: &l0 [x, x]\n${levels.join("")}`);
    assert.match(message, /more problems\)$/);
    assert.match(saidOf(`sandbox: { undo: { keep: [${"&x [a], *x, ".repeat(6000)}] } }\n`), /^1:26: /);
  });

  it("takes a file of many resources as quickly as it is long", () => {
    const many = Array.from({ length: 10_000 }, (_, at) => `  r${at}: { location: x }\n`).join("");
    const seconds = processorSeconds(() =>
      assert.match(saidOf(`resources:\n${many}  r0: {}\n`), /^10002:3: the key r0 is given twice$/),
    );
    assert.ok(seconds < 10, `it takes ${seconds} s`);
  });
});
