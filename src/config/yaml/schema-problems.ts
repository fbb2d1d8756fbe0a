import type * as z from "zod";
import { nearestName } from "../../core/values/nearest-name.ts";
import { type JsonSchema, keysOf, schemaAt } from "../json-schema.ts";
import { type ConfigPath, type ConfigProblem, listed, nameOfPath, shownKey } from "./config-problem.ts";
import type { ValuePosition, YamlDocument } from "./yaml-document.ts";
import { yamlOnOneLine } from "./yaml-text.ts";

type Issue = z.core.$ZodIssue;

/** What is written here may be a secret. */
const UNTOLD = "run.env.set";

interface PlacedIssue {
  readonly issue: Issue;
  /** From the root of the document. */
  readonly path: ConfigPath;
}

/**
 * The problems that the schema finds in a document, in the user's words and with their place in the text.
 */
export function schemaProblems(
  issues: readonly Issue[],
  document: YamlDocument,
  jsonSchema: () => JsonSchema,
): readonly ConfigProblem[] {
  return issues.length === 0 ? [] : new IssueTranslator(document, jsonSchema()).translate(issues);
}

class IssueTranslator {
  readonly #document: YamlDocument;
  readonly #schema: JsonSchema;
  /** Keys that are probably present under a misspelled name; they are not reported as missing too. */
  readonly #meant = new Set<string>();

  constructor(document: YamlDocument, schema: JsonSchema) {
    this.#document = document;
    this.#schema = schema;
  }

  translate(issues: readonly Issue[]): readonly ConfigProblem[] {
    const placed = issues.flatMap((issue) => this.#withoutForms(issue, []));
    const unknown = placed.flatMap(({ issue, path }) =>
      issue.code === "unrecognized_keys" ? issue.keys.map((key) => this.#unknownKey(path, key)) : [],
    );
    return [...unknown, ...placed.flatMap(({ issue, path }) => this.#problemsOf(issue, path))];
  }

  #withoutForms(issue: Issue, above: ConfigPath): readonly PlacedIssue[] {
    const path = [...above, ...issue.path];
    if (issue.code !== "invalid_union") return [{ issue, path }];
    return this.#fittingForm(issue.errors).flatMap((one) => this.#withoutForms(one, path));
  }

  #problemsOf(issue: Issue, path: ConfigPath): readonly ConfigProblem[] {
    if (issue.code === "unrecognized_keys") return [];
    if (issue.code === "invalid_key") return [this.#badName(path, issue.issues[0]?.message ?? issue.message)];
    const place = this.#document.positionOf(path);
    if (place === undefined) return this.#meant.has(nameOfPath(path)) ? [] : [this.#missing(path)];
    if (issue.code === "invalid_value") return [this.#notAllowed(path, place, issue.values.map(String))];
    return [this.#badValue(path, place, issue)];
  }

  /**
   * For a value that may have several forms: the problems of the form that fits, which is the one that does
   * not reject the value as a whole.
   */
  #fittingForm(forms: readonly (readonly Issue[])[]): readonly Issue[] {
    return (
      forms.find(
        (issues) => !issues.some(({ code, path }) => code === "invalid_type" && path.length === 0),
      ) ??
      forms.at(-1) ??
      []
    );
  }

  #unknownKey(path: ConfigPath, key: string): ConfigProblem {
    const known = keysOf(schemaAt(this.#schema, path) ?? {});
    const nearest = nearestName(key, known);
    if (nearest !== undefined) this.#meant.add(nameOfPath([...path, nearest]));
    const where = path.length === 0 ? "" : ` in ${nameOfPath(path)}`;
    return {
      path: [...path, key],
      offset: this.#document.positionOf([...path, key])?.key ?? 0,
      message: `unknown key ${shownKey(key)}${where}`,
      hint: nearest === undefined ? `The keys here are ${known.join(", ")}.` : `Did you mean ${nearest}?`,
    };
  }

  #badName(path: ConfigPath, message: string): ConfigProblem {
    const name = nameOfPath(path);
    return {
      path,
      offset: this.#document.positionOf(path)?.key ?? 0,
      message: `${name} ${message}`,
      hint: "Rename it.",
    };
  }

  #missing(path: ConfigPath): ConfigProblem {
    const holder = path.slice(0, -1);
    const key = shownKey(path.at(-1) ?? "");
    return {
      path,
      offset: this.#document.positionOf(holder)?.key ?? 0,
      message: `${nameOfPath(holder)} has no ${key}`,
      hint: this.#exampleHint(path) ?? `Add the key ${key}.`,
    };
  }

  #notAllowed(
    path: ConfigPath,
    { value: offset, written }: ValuePosition,
    allowed: readonly string[],
  ): ConfigProblem {
    const nearest = nearestName(written.replaceAll('"', ""), allowed);
    const choices =
      allowed.length === 0 ? "The file declares nothing that it could be." : `It can be ${listed(allowed)}.`;
    return {
      path,
      offset,
      message: `${nameOfPath(path)} cannot be ${written}`,
      hint: nearest === undefined ? choices : `Did you mean ${nearest}? ${choices}`,
    };
  }

  #badValue(path: ConfigPath, { value: offset, written }: ValuePosition, issue: Issue): ConfigProblem {
    const name = path.length === 0 ? "the file" : nameOfPath(path);
    const isTold = issue.code !== "custom" && !name.startsWith(UNTOLD);
    const instead = isTold ? `, not ${written}` : "";
    const hint = this.#exampleHint(path) ?? this.#keysHint(path);
    return { path, offset, message: `${name} ${issue.message}${instead}`, hint };
  }

  #exampleHint(path: ConfigPath): string | undefined {
    const schema = schemaAt(this.#schema, path);
    const forms = schema === undefined ? [] : [schema, ...(schema.anyOf ?? [])];
    const example = forms.find(({ examples }) => examples !== undefined)?.examples?.[0] ?? schema?.default;
    if (example === undefined || path.length === 0 || isEmptyMap(example)) return undefined;
    return `Write for example ${shownKey(path.at(-1) ?? "")}: ${yamlOnOneLine(example)}`;
  }

  #keysHint(path: ConfigPath): string {
    const keys = keysOf(schemaAt(this.#schema, path) ?? {});
    return keys.length === 0 ? "Correct it, or remove the key." : `The keys here are ${keys.join(", ")}.`;
  }
}

function isEmptyMap(value: unknown): boolean {
  return typeof value === "object" && value !== null && Object.keys(value).length === 0;
}
