import { StatementError } from "../../core/errors/errors.ts";
import { type Dialect, type ScriptExtras, type ScriptStatement, statementsOf } from "./server-statements.ts";

/** The statements of a script for psql, such as a dump: a COPY … FROM stdin has its data behind it. */
export function scriptStatements(script: string, dialect: Dialect): ScriptStatement[] {
  return statementsOf(script, dialect, dialect === "postgres" ? PSQL : undefined);
}

const TAKES_DATA = /^COPY\b.*\bFROM STDIN\b(?!.*\bTO\b)/;
const REST_OF_LINE = /[ \t\f\r]*(?:--[^\n]*)?(?:\n|$)/y;
const LAST_LINE = /^\\\.\r?(?:\n|$)/gm;
/** Dumps begin and end with these. Between them, psql takes no other commands of its own. */
const RESTRICTS = /\\(?:un)?restrict[ \t][^\n]*(?:\n|$)/y;
const COMMAND = /\\[^\s;]*/y;

const PSQL: ScriptExtras = {
  commandAt(script, at) {
    if (script[at] !== "\\") return undefined;
    const restricts = matchAt(RESTRICTS, script, at);
    if (restricts !== undefined) return at + restricts.length;
    throw new StatementError(`${matchAt(COMMAND, script, at)} is a command of psql and no statement.`, {
      hint: "Leave it out, or run the script by psql, inside the plan; nothing was run.",
    });
  },

  dataAfter({ words }, script, at) {
    if (words[0] !== "COPY" || !TAKES_DATA.test(words.join(" "))) return undefined;
    const rest = matchAt(REST_OF_LINE, script, at);
    const start = at + (rest?.length ?? 0);
    LAST_LINE.lastIndex = start;
    const last = rest === undefined ? null : LAST_LINE.exec(script);
    if (last !== null) return { data: script.slice(start, last.index), end: LAST_LINE.lastIndex };
    throw new StatementError("A COPY FROM stdin has no data in the script.", {
      hint: "They begin on the line after it, and end with a line that has only \\. in it; nothing was run.",
    });
  },
};

function matchAt(pattern: RegExp, text: string, at: number): string | undefined {
  pattern.lastIndex = at;
  return pattern.exec(text)?.[0];
}
