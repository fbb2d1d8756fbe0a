/**
 * `${NAME}` in a value stands for a variable of the environment; `$${` stands for the two characters `${`.
 * Nothing else is special: any other `$` is itself, and the content of a variable is used unchanged and not
 * searched for references.
 */
const REFERENCE = /\$\$\{|\$\{(?<inside>[^}]*)(?<close>\}?)/g;
const VARIABLE_NAME = /^[A-Za-z_][A-Za-z0-9_]*$/;

/** The variables of a process, as `process.env` has them. */
export type Environment = { readonly [name: string]: string | undefined };

/** A problem with the nth reference of a text, counted from 0, escapes included. */
export interface ReferenceProblem {
  readonly nth: number;
  readonly message: string;
  readonly hint: string;
}

export interface Substituted {
  readonly text: string;
  readonly problems: readonly ReferenceProblem[];
}

/** A reference to a variable, as written in a value. */
export function referenceTo(name: string): string {
  return `\${${name}}`;
}

/** Replaces every reference in a text. A reference that can't be replaced stays and is a problem. */
export function substituteReferences(text: string, environment: Environment): Substituted {
  const problems: ReferenceProblem[] = [];
  let nth = -1;
  const replaced = text.replace(
    REFERENCE,
    (match: string, inside: string | undefined, close: string | undefined) => {
      nth += 1;
      if (inside === undefined) return "${";
      if (close === "" || !VARIABLE_NAME.test(inside)) {
        problems.push({ nth, ...malformed(match) });
        return match;
      }
      const value = Object.hasOwn(environment, inside) ? environment[inside] : undefined;
      if (value === undefined) problems.push({ nth, ...missing(inside) });
      return value ?? match;
    },
  );
  return { text: replaced, problems };
}

/** The offset of each reference in a source text, escapes included. */
export function referenceOffsets(source: string): readonly number[] {
  return Array.from(source.matchAll(REFERENCE), (match) => match.index);
}

function missing(name: string): { message: string; hint: string } {
  return {
    message: `the environment has no variable ${name}`,
    hint: `Set ${name}, or write $${referenceTo(name)} if the text itself is meant.`,
  };
}

function malformed(text: string): { message: string; hint: string } {
  return {
    message: `${JSON.stringify(text)} is not a reference to an environment variable`,
    hint: `Write ${referenceTo("NAME")} with letters, digits and underscores, or $$\{ if the text itself is meant.`,
  };
}
