import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import { Workplace } from "../end-to-end/workplace.ts";
import { Served, textOf } from "./served.ts";

interface Schema {
  readonly type?: string;
  readonly properties?: { readonly [name: string]: Schema };
  readonly required?: readonly string[];
  readonly items?: Schema;
  readonly maxLength?: number;
  readonly enum?: readonly string[];
}

interface Described {
  readonly operationId: string;
  readonly parameters?: readonly {
    readonly name: string;
    readonly in: string;
    readonly required: boolean;
    readonly schema: Schema;
  }[];
  readonly requestBody?: { readonly content: { readonly [type: string]: { readonly schema: Schema } } };
}

const file = join(import.meta.dirname, "../../schema/openapi.json");
const document = JSON.parse(readFileSync(file, "utf8")) as {
  readonly paths: { readonly [path: string]: { readonly [method: string]: Described } };
};

/** A request that must be refused, and why it is wrong. */
interface Bad {
  readonly why: string;
  readonly path: string;
  readonly body?: string;
}

/** Values that fit. */
function good({ type, items, properties, required, enum: words }: Schema): unknown {
  if (words !== undefined) return words[0];
  if (type === "array") return items === undefined ? [] : [good(items)];
  if (type === "object")
    return Object.fromEntries((required ?? []).map((name) => [name, good(properties?.[name] ?? {})]));
  return type === "integer" ? 1 : type === "boolean" ? false : "p";
}

/** Values of another type, or too long. */
function wrong({ type, maxLength, enum: words }: Schema): readonly unknown[] {
  const others = [null, 1.5, true, { a: 1 }, ["x", 2]].filter(
    (value) => !(type === "boolean" && value === true) && !(type === "object" && value !== null),
  );
  const long = maxLength === undefined ? [] : ["x".repeat(maxLength + 1)];
  return [
    ...others,
    ...long,
    ...(words === undefined ? [] : ["nonsense"]),
    ...(type === "string" ? [] : ["x"]),
  ];
}

function* badRequests(path: string, { parameters = [], requestBody }: Described): Generator<Bad> {
  const schema = requestBody?.content["application/json"]?.schema;
  const fine = schema === undefined ? undefined : JSON.stringify(good(schema));
  const inPath = (plan: string) => path.replaceAll(/\{\w+\}/g, plan);
  const required = parameters.filter((one) => one.in === "query" && one.required);
  const query = (left?: string) =>
    required.filter(({ name }) => name !== left).map(({ name }) => `${name}=p`);
  const at = (plan: string, ...pairs: readonly string[]) =>
    `${inPath(plan)}?${[...query(), ...pairs].join("&")}`;
  const body = fine === undefined ? {} : { body: fine };
  yield { why: "an unknown parameter", path: at("p", "nonsense=1"), ...body };
  for (const { name } of required)
    yield { why: `${name} is missing`, path: `${inPath("p")}?${query(name).join("&")}`, ...body };
  for (const { name, schema: one, in: where } of parameters) {
    if (where === "path") {
      yield { why: `${name} is unknown`, path: at("unknown%ff"), ...body };
      yield { why: `${name} is too long`, path: at("x".repeat(7_000)), ...body };
    }
    if (where !== "query") continue;
    if (one.type === "integer" || one.type === "boolean")
      for (const value of ["", "x", "-1", "1.5", "1e99"])
        yield { why: `${name}=${value}`, path: at("p", `${name}=${value}`), ...body };
    if (one.type === "string")
      yield { why: `${name} twice`, path: at("p", `${name}=a`, `${name}=b`), ...body };
  }
  if (schema === undefined) return;
  yield { why: "no JSON", path: at("p"), body: "{" };
  yield { why: "a list", path: at("p"), body: "[1]" };
  yield { why: "a number", path: at("p"), body: "7" };
  const whole = good(schema) as object;
  yield { why: "an unknown member", path: at("p"), body: JSON.stringify({ ...whole, nonsense: 1 }) };
  for (const name of schema.required ?? [])
    yield { why: `without ${name}`, path: at("p"), body: JSON.stringify({ ...whole, [name]: undefined }) };
  for (const [name, one] of Object.entries(schema.properties ?? {}))
    for (const value of wrong(one))
      yield {
        why: `${name} is ${String(JSON.stringify(value)).slice(0, 20)}`,
        path: at("p"),
        body: JSON.stringify({ ...whole, [name]: value }),
      };
}

describe("bad input to 'drydock serve'", () => {
  it("[P4] gets a problem document from every operation, and changes nothing", async () => {
    using place = new Workplace();
    place.folder("app", { "a.txt": "old\n" });
    await using served = await Served.start(place);
    place.done("plan", "create", "-r", "app", "--name", "p");
    const before = place.answer("plan", "log", "p");
    let count = 0;
    for (const [path, methods] of Object.entries(document.paths))
      for (const [method, described] of Object.entries(methods))
        for (const bad of badRequests(path, described)) {
          count += 1;
          const { status, text, type } = await send(served, method, bad);
          const shown = `${described.operationId}, ${bad.why}: ${status} ${text}`;
          assert.ok(status >= 400 && status < 500, shown);
          assert.equal(type, "application/problem+json", shown);
          const { code, detail, hint, status: told } = JSON.parse(text);
          assert.ok(code !== "" && detail !== "" && hint !== "" && told === status, shown);
          assert.doesNotMatch(text, /\n\s+at |\.ts:\d/, shown);
        }
    assert.ok(count > 400, String(count));
    assert.deepEqual(place.answer("plan", "log", "p"), before);
    assert.deepEqual(place.answer("plan", "list", "--all").plans.length, 1);
    assert.equal(served.running.stderr, "", "none of it is a defect");
  });
});

async function send(served: Served, method: string, { path, body }: Bad) {
  const answer = await served.raw(path, {
    method: method.toUpperCase(),
    ...(body !== undefined && { headers: { "content-type": "application/json" }, body }),
  });
  const text = await textOf(answer);
  return { status: answer.statusCode ?? 0, text, type: answer.headers["content-type"] };
}
