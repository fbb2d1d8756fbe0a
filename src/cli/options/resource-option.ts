import { UsageError } from "../../core/errors/errors.ts";
import { displayPath } from "../../core/paths/byte-path.ts";
import { withoutSecret } from "../../core/resource/secret-url.ts";
import type { ResourceRequest } from "../../plans/plan-views.ts";
import { unescapePath } from "./escaped-path.ts";

/**
 * The value of `-r, --resource`: `[NAME=]LOCATION[,type=TYPE][,strategy=STRATEGY][,from=START]`.
 *
 * A location may hold `=` and `,` itself, so it is read from both ends:
 * - `,type=WORD`, `,strategy=WORD` and `,from=WORD` at the end are options, each once and in any order; any
 *   other `,` belongs to the location. A strategy may also be a path and a class: `./mine.mjs:MyStrategy`.
 * - `NAME=` at the beginning is the name if it consists of letters, digits and `_.-`, unless the whole value
 *   is an existing path.
 */
const OPTION_AT_END = /,(type|strategy|from)=([\w.:-]*|(?<=,strategy=)\.{0,2}\/[^,]*:[\w$]+)$/;
const NAME_AT_BEGINNING = /^([\w.-]+)=(.*)$/s;
const LOOKS_LIKE_OPTION = /,([a-z][a-z_-]*)=[^/,]*$/i;

/** Reads one value of the option; `exists` says whether a path exists. */
export function parseResourceOption(value: string, exists: (path: string) => boolean): ResourceRequest {
  const { rest, options } = takeOptions(value);
  const { name, text } = takeName(rest, exists);
  const location = unescapePath(text);
  if (location === "") throw refuse(value, "has an empty location");
  const stray = LOOKS_LIKE_OPTION.exec(location)?.[1];
  if (stray !== undefined && !isUrl(location) && !exists(location)) {
    const why =
      stray in options ? `has '${stray}' more than once` : `has '${stray}', which is no option of a resource`;
    throw refuse(value, `${why}, and there is nothing at that path`);
  }
  return { ...(name === undefined ? {} : { name }), location, ...options };
}

interface Options {
  type?: string;
  strategy?: string;
  from?: string;
}

function takeOptions(value: string): { readonly rest: string; readonly options: Options } {
  const options: Options = {};
  let rest = value;
  for (;;) {
    const [whole, key, word] = OPTION_AT_END.exec(rest) ?? [];
    if (whole === undefined || !isOption(key) || key in options) return { rest, options };
    if (word === undefined || word === "") throw refuse(value, `has an empty ${key}`);
    options[key] = word;
    rest = rest.slice(0, -whole.length);
  }
}

function isOption(key: string | undefined): key is keyof Options {
  return key === "type" || key === "strategy" || key === "from";
}

function takeName(
  rest: string,
  exists: (path: string) => boolean,
): { readonly name?: string; readonly text: string } {
  const [, name, text] = NAME_AT_BEGINNING.exec(rest) ?? [];
  if (name === undefined || text === undefined || exists(unescapePath(rest))) return { text: rest };
  return { name, text };
}

function isUrl(location: string): boolean {
  return /^[a-z][a-z0-9+.-]*:\/\//i.test(location);
}

function refuse(value: string, why: string): UsageError {
  return new UsageError(`The resource '${displayPath(withoutSecret(value))}' ${why}.`, {
    hint: "Write it as [NAME=]LOCATION[,type=TYPE][,strategy=STRATEGY][,from=START], for example app=./src,strategy=filesystem_copy.",
  });
}
