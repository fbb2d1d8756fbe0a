import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { referenceOffsets, referenceTo, substituteReferences } from "./environment-references.ts";

const A = referenceTo("A");
const B = referenceTo("B");

describe("substituteReferences", () => {
  const environment = { A: "one", B: A, EMPTY: "", GONE: undefined };
  const replaced = (text: string) => substituteReferences(text, environment);

  it("replaces every reference once and takes what it finds as it is", () => {
    assert.deepEqual(replaced(`x${A}-${A}/${B}`), { text: `xone-one/${A}`, problems: [] });
    assert.equal(replaced(`<${referenceTo("EMPTY")}>`).text, "<>");
  });

  it("leaves text without references alone, dollars included", () => {
    for (const text of ["", "plain", "$", "$A", "a$$b", "{A}", "100$ }"]) {
      assert.deepEqual(replaced(text), { text, problems: [] });
    }
  });

  it("turns an escaped reference into its text", () => {
    assert.deepEqual(replaced(`$${A} ${A} $$\{`), { text: `${A} one $\{`, problems: [] });
  });

  it("counts a variable that is not set as a problem, whatever objects have by nature", () => {
    for (const name of ["MISSING", "GONE", "constructor", "__proto__"]) {
      const { problems } = replaced(`${A} ${referenceTo(name)}`);
      assert.deepEqual(
        problems.map(({ nth }) => nth),
        [1],
      );
      assert.match(problems[0]?.message ?? "", new RegExp(`no variable ${name}$`));
    }
  });

  it("counts what is no name, or not closed, as a problem", () => {
    for (const text of [referenceTo(""), referenceTo("A-B"), referenceTo("1A"), referenceTo("A:-x"), "${A"]) {
      const { problems } = replaced(text);
      assert.match(problems[0]?.message ?? "", /is not a reference/);
    }
  });
});

describe("referenceOffsets", () => {
  it("says where references and escapes begin", () => {
    assert.deepEqual(referenceOffsets(`x${A} $${A} $`), [1, 6]);
  });
});
