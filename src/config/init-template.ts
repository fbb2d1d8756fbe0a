import { configJsonSchema, type JsonSchema } from "./json-schema.ts";
import { referenceTo } from "./yaml/environment-references.ts";
import { yamlLines, yamlOnOneLine } from "./yaml/yaml-text.ts";

const COMMENT_WIDTH = 100;

/**
 * The commented drydock.yaml that `drydock init` writes: every key with its meaning and its default. A key
 * without a default is a comment with an example, so that the new file changes nothing. `schema` is the file
 * or URL of the JSON Schema, for editors.
 */
export function initTemplate(schema?: string): string {
  const lines = [
    ...(schema === undefined ? [] : [`# yaml-language-server: $schema=${schema}`]),
    "# Settings of Drydock. Every key is optional; what stands here are the defaults.",
    `# In a value ${referenceTo("NAME")} is replaced from the environment. After a change run: drydock trust`,
    ...linesOf(configJsonSchema(), ""),
  ];
  return `${lines.join("\n")}\n`;
}

function linesOf(schema: JsonSchema, indent: string): readonly string[] {
  return Object.entries(schema.properties ?? {}).flatMap(([key, below]) => [
    ...(indent === "" ? [""] : []),
    ...comment(below.description ?? "", indent),
    ...entry(key, below, indent),
  ]);
}

function entry(key: string, schema: JsonSchema, indent: string): readonly string[] {
  const example = schema.examples?.[0];
  if (schema.properties !== undefined && example !== undefined)
    return optionalSection(key, schema).map((line) => `${indent}# ${line}`);
  if (schema.properties !== undefined) return [`${indent}${key}:`, ...linesOf(schema, `${indent}  `)];
  if (example === undefined) return [`${indent}${key}: ${yamlOnOneLine(schema.default)}`];
  // In a section the example is one line, if it can be: then it is made a setting without counting spaces.
  if (indent.length > 2 || (indent !== "" && Array.isArray(example)))
    return [`${indent}# ${key}: ${yamlOnOneLine(example)}`];
  return yamlLines({ [key]: example }).map((line) => `${indent}# ${line}`);
}

/** A section that means something else when it is left out, as it would stand there. */
function optionalSection(key: string, { properties = {} }: JsonSchema): readonly string[] {
  const keys = Object.entries(properties).flatMap(([name, below]) => [
    ...comment(below.description ?? "", "  "),
    `  ${name}: ${yamlOnOneLine(below.examples?.[0] ?? below.default)}`,
  ]);
  return [`${key}:`, ...keys];
}

function comment(text: string, indent: string): readonly string[] {
  const lines: string[] = [];
  let line = `${indent}#`;
  for (const word of text.split(" ")) {
    if (line.length + word.length >= COMMENT_WIDTH) {
      lines.push(line);
      line = `${indent}#`;
    }
    line += ` ${word}`;
  }
  return [...lines, line];
}
