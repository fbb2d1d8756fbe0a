import { readFileSync, writeFileSync } from "node:fs";
import { basename } from "node:path";
import { parseAst } from "rollup/parseAst";

/**
 * Makes modules of the older kind export their values, where esbuild makes a getter for each: hundreds of
 * functions and properties before a command begins, and a call wherever a module uses what another one
 * exports.
 *
 * esbuild defines the getters at the start of a module and lists the names at its end. Here the values stand
 * at the end, where all of them are made; what may change later keeps its getter. The text before keeps its
 * length, so that the source map stays right.
 */
export function exportValues(files: readonly string[]): void {
  const texts = new Map(files.map((file) => [file, readFileSync(file, "utf8")]));
  assertNoCircle(texts);
  for (const [file, text] of texts) writeFileSync(file, withValues(file, text));
}

/** esbuild's list of names, which a module has that exports more than a default. */
const LIST = /(?:0&&\(module\.exports=\{[\w$,]*\}\);)?(?=\n(?:\/\/# sourceMappingURL=[^\n]*\n)?$)/;

interface Node {
  readonly type: string;
  readonly start: number;
  readonly end: number;
  readonly [property: string]: unknown;
}

function withValues(file: string, text: string): string {
  const [, made] = /\bvar (\w+_exports)=\{\};__export\(\1,/.exec(text) ?? [];
  if (made === undefined) return text;
  const program = parseAst(text) as unknown as Node;
  const [define, take] = nodesIn(program["body"]).filter((statement) => isAbout(made, statement, text));
  const list = LIST.exec(text);
  if (define === undefined || take === undefined || list === null)
    throw new Error(`${file} does not export what it has as esbuild used to.`);
  const settled = settledNames(program);
  const exported = gettersIn(define).map(([name, value]) => {
    const expression = text.slice(value.start, value.end);
    if (!settled.has(expression)) return `get ${name}(){return ${expression}}`;
    return name === expression ? name : `${name}:${expression}`;
  });
  return [
    text.slice(0, define.start),
    " ".repeat(take.end - define.start),
    text.slice(take.end, list.index),
    `module.exports={${exported.join(",")}};`,
    text.slice(list.index + list[0].length),
  ].join("");
}

/** Whether a statement is `__export(MADE,{…})` or `module.exports=__toCommonJS(MADE)`. */
function isAbout(made: string, { type, start, end }: Node, text: string): boolean {
  const begin = text.slice(start, Math.min(end, start + 2 * made.length + 40));
  return (
    type === "ExpressionStatement" &&
    (begin.startsWith(`__export(${made},`) || begin.startsWith(`module.exports=__toCommonJS(${made})`))
  );
}

/** The names and values in `__export(MADE,{NAME:()=>VALUE,…})`. */
function gettersIn(statement: Node): readonly (readonly [name: string, value: Node])[] {
  const [, getters] = nodesIn((statement["expression"] as Node)["arguments"]);
  return nodesIn(getters?.["properties"]).map(({ key, value }) => {
    const { name, value: quoted } = key as { readonly name?: string; readonly value?: string };
    return [name ?? JSON.stringify(quoted), (value as Node)["body"] as Node];
  });
}

/** The names at the top that have their value when the module has run, and keep it. */
function settledNames(program: Node): ReadonlySet<string> {
  const settled = new Set<string>();
  for (const { type, id, declarations } of nodesIn(program["body"])) {
    if (type === "FunctionDeclaration" || type === "ClassDeclaration")
      settled.add((id as Node)["name"] as string);
    for (const { id: name, init } of nodesIn(declarations))
      if (init !== null) for (const each of namesIn(name as Node)) settled.add(each);
  }
  // An inner name that is the same only costs a getter.
  walk(program, (node) => {
    const target = TARGETS[node.type];
    if (target !== undefined) for (const name of namesIn(node[target] as Node)) settled.delete(name);
    return true;
  });
  return settled;
}

/** What gives a name another value, and in which property it has that name. */
const TARGETS: { readonly [type: string]: string } = {
  AssignmentExpression: "left",
  UpdateExpression: "argument",
  ForInStatement: "left",
  ForOfStatement: "left",
};

/** All names in a pattern, and those in what it takes as defaults, which does no harm. */
function namesIn(pattern: Node): readonly string[] {
  const names: string[] = [];
  walk(pattern, ({ type, name }) => {
    if (type === "Identifier") names.push(name as string);
    return type !== "MemberExpression";
  });
  return names;
}

/** Visits a node, and what is in it unless `visit` returns false. */
function walk(node: Node, visit: (node: Node) => boolean): void {
  if (!visit(node)) return;
  for (const value of Object.values(node)) for (const child of nodesIn(value)) walk(child, visit);
}

function nodesIn(value: unknown): readonly Node[] {
  const values: readonly unknown[] = Array.isArray(value) ? value : [value];
  return values.filter((each): each is Node => typeof each === "object" && each !== null && "type" in each);
}

/** In a circle, one module would take the values of another one that has not run. */
function assertNoCircle(texts: ReadonlyMap<string, string>): void {
  const needs = new Map(
    [...texts].map(([file, text]) => [
      basename(file),
      [...text.matchAll(/\bimport_\w+=require\("[.][/]([^"]+)"\)/g)].map(([, name = ""]) => name),
    ]),
  );
  const whole = new Set<string>();
  const look = (name: string, way: readonly string[]): void => {
    if (way.includes(name))
      throw new Error(`Files of the bundle need each other: ${[...way, name].join(", ")}.`);
    if (whole.has(name)) return;
    for (const needed of needs.get(name) ?? []) look(needed, [...way, name]);
    whole.add(name);
  };
  for (const name of needs.keys()) look(name, []);
}
