import {
  type Alias,
  isAlias,
  isMap,
  isScalar,
  isSeq,
  type Node,
  type Pair,
  parseDocument,
  type Scalar,
} from "yaml";
import { displayPath } from "../../core/paths/byte-path.ts";
import { type ConfigPath, type ConfigProblem, shortened, shownKey } from "./config-problem.ts";
import { type Environment, referenceOffsets, substituteReferences } from "./environment-references.ts";

/**
 * The text of a config as plain data, with the position of every value. YAML 1.2, one document; keys are
 * text, each once; references to the environment are replaced in values, never in keys. Problems are
 * collected, so that the first of all can be reported.
 */
export interface YamlDocument {
  /**
   * Maps without a prototype, arrays, strings, numbers, booleans and null. An empty document is an empty map.
   */
  readonly value: unknown;
  readonly problems: readonly ConfigProblem[];
  /** Whether there is a value: after a syntax error there is none. */
  readonly readable: boolean;
  /** The position of this value and its key; undefined if the text has no such value. */
  positionOf(path: ConfigPath): ValuePosition | undefined;
}

export interface ValuePosition {
  readonly key: number;
  readonly value: number;
  /**
   * The text of the value before references are replaced, because they may hold secrets: `"overlay"`, `20`,
   * `a map`.
   */
  readonly written: string;
}

/** More than any honest file repeats by aliases. */
const MOST_ALIASED_NODES = 10_000;

const SYNTAX_MESSAGES: { readonly [code: string]: { readonly message?: string; readonly hint: string } } = {
  BAD_INDENT: { hint: "Indent the keys of one map by the same number of spaces." },
  MULTIPLE_DOCS: {
    message: "a second document begins here",
    hint: "Keep one document in the file: remove the line ---.",
  },
  RESOURCE_EXHAUSTION: { message: "nested too deeply", hint: "Remove levels." },
  TAB_AS_INDENT: { message: "a tab is used for indentation", hint: "Indent with spaces." },
};

/** Reads a text. Never throws because of the text. */
export function readYamlDocument(text: string, environment: Environment): YamlDocument {
  const notText = /\p{Surrogate}/u.exec(text);
  if (notText !== null) {
    const problem = { message: "this is not UTF-8 text", hint: "Save the file as UTF-8." };
    return unreadable([{ path: [], offset: notText.index, ...problem }]);
  }
  // The library finds duplicate keys by comparing every pair; DocumentReader finds them in one pass.
  const document = parseDocument(text, { prettyErrors: false, uniqueKeys: false });
  const wrong = [...document.errors, ...document.warnings];
  if (wrong.length > 0)
    return unreadable(wrong.map(({ code, message, pos }) => syntaxProblem(code, message, pos[0])));
  return new DocumentReader(document.contents, text, environment).read();
}

function unreadable(problems: readonly ConfigProblem[]): YamlDocument {
  return { value: undefined, problems, readable: false, positionOf: () => undefined };
}

function syntaxProblem(code: string, message: string, offset: number): ConfigProblem {
  const known = SYNTAX_MESSAGES[code];
  const said = known?.message ?? displayPath(message.slice(0, 1).toLowerCase() + message.slice(1));
  return { path: [], offset, message: said, hint: known?.hint ?? "Correct the YAML at this place." };
}

class DocumentReader {
  readonly #root: Node | null;
  readonly #text: string;
  readonly #environment: Environment;
  readonly #problems: ConfigProblem[] = [];
  readonly #places = new Map<string, ValuePosition>();
  /** The node of each anchor at this point of the text. */
  readonly #anchors = new Map<string, Node>();
  /**
   * The target of each alias when it was first read; the library would walk the whole document for each
   * request.
   */
  readonly #targets = new Map<Alias, Node | undefined>();
  /** The anchored nodes that are being read by an alias. */
  readonly #entered = new Set<Node>();
  #aliasedNodes = 0;

  constructor(root: Node | null, text: string, environment: Environment) {
    this.#root = root;
    this.#text = text;
    this.#environment = environment;
  }

  read(): YamlDocument {
    const root = this.#root;
    const value =
      root === null || (isScalar(root) && root.value === null) ? {} : this.#read(root, [], offsetOf(root, 0));
    const places = this.#places;
    return {
      value,
      problems: this.#problems,
      readable: true,
      positionOf: (path) => places.get(placeKey(path)),
    };
  }

  #read(node: Node | null, path: ConfigPath, keyOffset: number): unknown {
    const offset = offsetOf(node, keyOffset);
    if (isAlias(node)) return this.#readAlias(node, path, keyOffset, offset);
    this.#noteAnchor(node);
    if (this.#entered.size > 0 && !this.#countAliased(path, offset)) return undefined;
    this.#places.set(placeKey(path), { key: keyOffset, value: offset, written: written(node) });
    if (isMap(node)) return this.#readMap(node.items as readonly Pair[], path);
    if (isSeq(node)) {
      return node.items.map((item, at) =>
        this.#read(item as Node | null, [...path, at], offsetOf(item, offset)),
      );
    }
    return isScalar(node) ? this.#readScalar(node, path, offset) : null;
  }

  #readMap(pairs: readonly Pair[], path: ConfigPath): unknown {
    const map: { [key: string]: unknown } = Object.create(null);
    for (const { key, value } of pairs) {
      this.#noteAnchor(key);
      const name = this.#readKey(key, path);
      if (name === undefined) continue;
      const offset = offsetOf(key, 0);
      if (name in map)
        this.#report(
          [...path, name],
          offset,
          `the key ${shownKey(name)} is given twice`,
          "Remove one of the two.",
        );
      else map[name] = this.#read(value as Node | null, [...path, name], offset);
    }
    return map;
  }

  #readKey(key: unknown, path: ConfigPath): string | undefined {
    const name = isScalar(key) ? key.value : undefined;
    if (typeof name === "string" && name !== "__proto__") return name;
    const shown = isScalar(key) && typeof key.source === "string" ? shownKey(key.source) : "this";
    return this.#report(
      [...path, shown],
      offsetOf(key, 0),
      `${shown} is not a key`,
      "Use text as keys; put it in quotes if need be.",
    );
  }

  #noteAnchor(node: unknown): void {
    if ((isScalar(node) || isMap(node) || isSeq(node)) && node.anchor !== undefined)
      this.#anchors.set(node.anchor, node);
  }

  #readAlias(alias: Alias, path: ConfigPath, keyOffset: number, offset: number): unknown {
    if (!this.#targets.has(alias)) this.#targets.set(alias, this.#anchors.get(alias.source));
    const target = this.#targets.get(alias);
    const name = shownKey(alias.source);
    if (target === undefined) {
      return this.#report(
        path,
        offset,
        `nothing above is marked &${name}`,
        "Mark the value, or write it out.",
      );
    }
    if (this.#entered.has(target) || contains(target, offset)) {
      return this.#report(path, offset, `*${name} stands inside of what it repeats`, "Write the value out.");
    }
    this.#entered.add(target);
    const value = this.#read(target, path, keyOffset);
    this.#entered.delete(target);
    return value;
  }

  /** Counts one more node read by an alias; false if there are too many. */
  #countAliased(path: ConfigPath, offset: number): boolean {
    this.#aliasedNodes += 1;
    if (this.#aliasedNodes === MOST_ALIASED_NODES + 1) {
      this.#report(path, offset, "aliases repeat too much", "Write the values out.");
    }
    return this.#aliasedNodes <= MOST_ALIASED_NODES;
  }

  #readScalar(node: Scalar, path: ConfigPath, offset: number): unknown {
    const { value } = node;
    if (typeof value === "string") return this.#substitute(value, node, path, offset);
    if (value === null || typeof value === "boolean" || typeof value === "number") return value;
    return this.#report(
      path,
      offset,
      "values of this kind are not used here",
      "Write text, a number, true or false.",
    );
  }

  #substitute(value: string, node: Scalar, path: ConfigPath, offset: number): string {
    const { text, problems } = substituteReferences(value, this.#environment);
    if (problems.length === 0) return text;
    const starts = referenceOffsets(this.#text.slice(offset, node.range?.[1]));
    // A value in double quotes may write a reference with escapes; then only the position of the whole value
    // is known.
    for (const { nth, message, hint } of problems)
      this.#report(path, offset + (starts[nth] ?? 0), message, hint);
    return text;
  }

  #report(path: ConfigPath, offset: number, message: string, hint: string): undefined {
    this.#problems.push({ path, offset, message, hint });
  }
}

function placeKey(path: ConfigPath): string {
  return JSON.stringify(path);
}

function offsetOf(node: unknown, otherwise: number): number {
  return (node as Node | null)?.range?.[0] ?? otherwise;
}

function contains(node: Node, offset: number): boolean {
  return node.range !== null && node.range !== undefined && node.range[0] <= offset && offset < node.range[1];
}

function written(node: unknown): string {
  if (isMap(node)) return "a map";
  if (isSeq(node)) return "a list";
  if (!isScalar(node) || node.value === null) return "empty";
  return shortened(displayPath(typeof node.value === "string" ? `"${node.value}"` : String(node.source)));
}
