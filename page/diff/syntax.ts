import type { HighlighterCore } from "shiki/core";

/**
 * The colours of code. They are a help and nothing more: what is shown does not depend on them, a file in
 * another language is shown without, and so is a large one, because a page that stands still is worse.
 */
const LANGUAGES = {
  c: () => import("shiki/langs/c.mjs"),
  csharp: () => import("shiki/langs/csharp.mjs"),
  css: () => import("shiki/langs/css.mjs"),
  go: () => import("shiki/langs/go.mjs"),
  html: () => import("shiki/langs/html.mjs"),
  ini: () => import("shiki/langs/ini.mjs"),
  java: () => import("shiki/langs/java.mjs"),
  json: () => import("shiki/langs/json.mjs"),
  kotlin: () => import("shiki/langs/kotlin.mjs"),
  make: () => import("shiki/langs/make.mjs"),
  markdown: () => import("shiki/langs/markdown.mjs"),
  php: () => import("shiki/langs/php.mjs"),
  python: () => import("shiki/langs/python.mjs"),
  rust: () => import("shiki/langs/rust.mjs"),
  shellscript: () => import("shiki/langs/shellscript.mjs"),
  sql: () => import("shiki/langs/sql.mjs"),
  toml: () => import("shiki/langs/toml.mjs"),
  tsx: () => import("shiki/langs/tsx.mjs"),
  typescript: () => import("shiki/langs/typescript.mjs"),
  xml: () => import("shiki/langs/xml.mjs"),
  yaml: () => import("shiki/langs/yaml.mjs"),
} as const;

type Language = keyof typeof LANGUAGES;

const ENDINGS: { readonly [ending: string]: Language } = {
  ...{ c: "c", h: "c", cc: "c", cpp: "c", cxx: "c", hpp: "c", cs: "csharp", css: "css", go: "go" },
  ...{ html: "html", htm: "html", ini: "ini", conf: "ini", cfg: "ini", java: "java", json: "json" },
  ...{ jsonc: "json", kt: "kotlin", mk: "make", md: "markdown", php: "php", py: "python", pyi: "python" },
  ...{ rs: "rust", sh: "shellscript", bash: "shellscript", zsh: "shellscript", sql: "sql", toml: "toml" },
  ...{ js: "tsx", jsx: "tsx", mjs: "tsx", cjs: "tsx", tsx: "tsx", ts: "typescript", mts: "typescript" },
  ...{ cts: "typescript", xml: "xml", svg: "xml", yaml: "yaml", yml: "yaml" },
};
const NAMES: { readonly [name: string]: Language } = { Makefile: "make" };

const MOST_CHARACTERS = 200_000;
const LONGEST_LINE = 2000;

/** A part of a line in one colour: where it ends, and the class of the colour. */
export type Token = readonly [number, string];
/** The tokens of each line. */
export type Tokens = readonly (readonly Token[])[];

/** The language of a file, by its name. */
export function languageOf(path: string): Language | undefined {
  const name = path.slice(path.lastIndexOf("/") + 1);
  return NAMES[name] ?? ENDINGS[/\.(\w+)$/.exec(name)?.[1]?.toLowerCase() ?? ""];
}

/** The tokens of a text; undefined if it has no colours. */
export async function tokensOf(
  lines: readonly string[],
  language: Language | undefined,
): Promise<Tokens | undefined> {
  const length = lines.reduce((sum, line) => sum + line.length, 0);
  if (language === undefined || length > MOST_CHARACTERS) return undefined;
  if (lines.some((line) => line.length > LONGEST_LINE)) return undefined;
  const shiki = await highlighter();
  await shiki.loadLanguage(LANGUAGES[language]);
  const { tokens } = shiki.codeToTokens(lines.join("\n"), { lang: language, theme: "css-variables" });
  return tokens.map((line) => {
    let end = 0;
    return line.map(({ content, color = "" }): Token => {
      end += content.length;
      return [end, classOf(color)];
    });
  });
}

/** A theme of variables gives names instead of colours; the style sheet has the colours. */
function classOf(colour: string): string {
  const name = /^var\(--shiki-token-([a-z-]+)\)$/.exec(colour)?.[1];
  return name === undefined ? "" : `t-${name}`;
}

let made: Promise<HighlighterCore> | undefined;

function highlighter(): Promise<HighlighterCore> {
  made ??= makeHighlighter();
  return made;
}

async function makeHighlighter(): Promise<HighlighterCore> {
  const { createCssVariablesTheme, createHighlighterCore } = await import("shiki/core");
  const { createJavaScriptRegexEngine } = await import("shiki/engine/javascript");
  return await createHighlighterCore({
    themes: [createCssVariablesTheme()],
    langs: [],
    engine: createJavaScriptRegexEngine({ forgiving: true }),
  });
}
