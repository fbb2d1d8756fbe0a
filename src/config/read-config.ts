import type * as z from "zod";
import { ConfigError } from "../core/errors/errors.ts";
import { displayPath } from "../core/paths/byte-path.ts";
import type { JsonSchema } from "./json-schema.ts";
import { type ConfigPath, type ConfigProblem, positionAt } from "./yaml/config-problem.ts";
import type { Environment } from "./yaml/environment-references.ts";
import { schemaProblems } from "./yaml/schema-problems.ts";
import { readYamlDocument, type YamlDocument } from "./yaml/yaml-document.ts";

/** The text of a config, checked against its definition. */

export interface ConfigSource {
  /** The real, absolute path; its folder is the base of relative locations. */
  readonly file: string;
  readonly text: string;
  /** The variables that replace `${NAME}`. */
  readonly environment: Environment;
}

/** What a config is checked against. */
export interface ConfigDefinition<Schema extends z.ZodType> {
  /** The schema of a file with this value. */
  readonly schemaOf: (value: unknown) => Schema;
  /** For hints. */
  readonly jsonSchema: () => JsonSchema;
}

/** The file, line and column of a value, by its path. */
export type PositionOf = (path: ConfigPath) => string;

/**
 * The values of a config's text. Fails by `ConfigError` with the first problem and the number of further
 * ones.
 */
export function readConfig<Schema extends z.ZodType>(
  { file, text, environment }: ConfigSource,
  { schemaOf, jsonSchema }: ConfigDefinition<Schema>,
): { readonly values: z.output<Schema>; readonly placeOf: PositionOf } {
  const document = readYamlDocument(text, environment);
  const checked = document.readable ? schemaOf(document.value).safeParse(document.value) : undefined;
  if (checked?.success && document.problems.length === 0)
    return {
      values: checked.data,
      placeOf: (path) => {
        const { line, column } = positionAt(text, document.positionOf(path)?.key ?? 0);
        return `${displayPath(file)}:${line}:${column}`;
      },
    };
  const issues = checked?.error?.issues ?? [];
  throw configError(file, text, [
    ...document.problems,
    ...furtherProblems(schemaProblems(issues, document, jsonSchema), document),
  ]);
}

/** Drops the schema's problems with values that could not even be read. */
function furtherProblems(
  problems: readonly ConfigProblem[],
  document: YamlDocument,
): readonly ConfigProblem[] {
  return problems.filter(({ path }) => !document.problems.some((unread) => isWithin(path, unread.path)));
}

function isWithin(path: ConfigPath, holder: ConfigPath): boolean {
  return holder.every((key, at) => path[at] === key);
}

function configError(file: string, text: string, problems: readonly ConfigProblem[]): ConfigError {
  const [first, ...others] = problems.toSorted((a, b) => a.offset - b.offset);
  const { offset, message, hint } = first as ConfigProblem;
  const { line, column } = positionAt(text, offset);
  const more =
    others.length === 0 ? "" : ` (and ${others.length} more ${others.length === 1 ? "problem" : "problems"})`;
  return new ConfigError(`${displayPath(file)}:${line}:${column}: ${message}${more}`, {
    file,
    line,
    column,
    hint,
  });
}
