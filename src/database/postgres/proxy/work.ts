import { createHash, type Hash } from "node:crypto";
import type { ClientUnit, DoneStatement } from "../../server/client-unit.ts";
import { effectOf } from "../../server/statement-effect.ts";
import { type ClientStatement, type MadeSetting, QUIET, READ_ONLY } from "./client-statement.ts";
import type { Setting } from "./settings.ts";
import { ContentReader, errorFields } from "./wire.ts";

export type RunnableStatement = Extract<ClientStatement, { readonly does: "run" }>;

export const FUNCTION_CALL: RunnableStatement = {
  ...{ does: "run", sql: "-- a function, called by its number", words: ["CALL"] },
  ...{ reads: false, sets: [] },
};

/** The parameters of a statement: their types, and the rest of a Bind message after the names. */
export interface Parameters {
  readonly types: Buffer;
  readonly values: Buffer;
}

/** A statement as it can be run again. */
export interface Repeatable {
  readonly sql: string;
  readonly parameters?: Parameters;
  /** Whole messages of COPY. */
  readonly copied: readonly Buffer[];
  /** Undefined if the client took only some of the rows. */
  readonly digest: string | undefined;
}

/** The work of one unit, as it can be done again. */
export interface RepeatableWork {
  readonly settings: readonly Setting[];
  readonly statements: readonly Repeatable[];
}

/** Of one unit, no more than this is kept to do it again. */
const MOST_BYTES = 32 << 20;

/** A statement that a client runs. */
export class Executed {
  readonly statement: RunnableStatement;
  readonly parameters: Parameters | undefined;
  readonly digest: Hash = createHash("sha256");
  copied: Buffer[] = [];
  outcome = "";
  /** The server has answered it. It skips what comes after an error. */
  hasRun = false;
  isFailed = false;
  isPartial = false;

  constructor(statement: RunnableStatement, parameters?: Parameters) {
    this.statement = statement;
    this.parameters = parameters;
  }

  /** Takes a message of the server's answer. */
  take(type: string, bytes: Buffer): void {
    if ("CIsVE".includes(type)) this.hasRun = true;
    if (type === "C") this.outcome = new ContentReader(bytes).anyText();
    if (type === "s") this.isPartial = true;
    if (type === "E") {
      this.isFailed = true;
      this.outcome = errorFields(bytes)["C"] ?? "";
    }
  }

  get rows(): number {
    const [, count = "0"] = /^(?:INSERT \d+|UPDATE|DELETE|MERGE|COPY) (\d+)$/.exec(this.outcome) ?? [];
    return Number(count);
  }
}

/** What a client does until its transaction ends. */
export class Work {
  readonly executed: Executed[] = [];
  readonly settings: readonly Setting[];
  /** Settings that it makes, by name. */
  readonly sets = new Map<string, MadeSetting>();
  /** Whether portals with names, or cursors, may be open. */
  hasCursors = false;
  /** Whether the client has said that it only reads, which holds until a savepoint ends. */
  isReadOnly = false;
  whyNotAgain: string | undefined;
  #size = 0;

  constructor(settings: readonly Setting[]) {
    this.settings = settings;
  }

  get isEmpty(): boolean {
    return !this.executed.some(({ hasRun }) => hasRun);
  }

  get onlyReads(): boolean {
    return this.executed.every(({ statement, isFailed }) => statement.reads || isFailed);
  }

  get changesDefinitions(): boolean {
    return this.executed.some(({ statement }) =>
      /^(?:CREATE|ALTER|DROP|DO|CALL)$/.test(statement.words[0] ?? ""),
    );
  }

  add(executed: Executed): Executed {
    const { statement, parameters } = executed;
    this.executed.push(executed);
    for (const made of statement.sets) this.sets.set(made.name, made);
    if (statement.sql === READ_ONLY || this.sets.has("transaction_read_only")) this.isReadOnly = true;
    if (statement.words[0] === "DECLARE") this.hasCursors = true;
    this.#count(statement.sql.length + (parameters?.values.length ?? 0));
    return executed;
  }

  addCopied(bytes: Buffer): void {
    this.#count(bytes.length);
    if (this.whyNotAgain === undefined) this.executed.at(-1)?.copied.push(Buffer.from(bytes));
  }

  #count(bytes: number): void {
    this.#size += bytes;
    if (this.#size <= MOST_BYTES) return;
    this.whyNotAgain ??= `a client sent more than ${MOST_BYTES >> 20} MiB in one transaction`;
    for (const executed of this.executed) executed.copied = [];
  }

  /** The result, once the work stays. `hasWritten`: statements that seem to read have written. */
  done(hasWritten: boolean): ClientUnit {
    const all = this.executed.filter(({ hasRun }) => hasRun);
    const digests = new Map(all.map((executed) => [executed, digestOf(executed)]));
    // Beside statements that write, one that seems to read can't be told from one whose function writes.
    const mayWrite = hasWritten || !this.onlyReads;
    const shown = inEffect(all).map((executed): DoneStatement => {
      const { statement, rows } = executed;
      const words = statement.words[0] === "EXECUTE" ? executed.outcome.split(" ") : statement.words;
      const effect = effectOf(words, mayWrite && !QUIET.test(statement.words[0] ?? ""));
      return { sql: shownSql(executed), effect, rows, digest: digests.get(executed) ?? "" };
    });
    const again =
      this.whyNotAgain === undefined
        ? {
            work: {
              settings: this.settings,
              statements: all.map((each) => repeatable(each, digests)),
            },
          }
        : { whyNot: this.whyNotAgain };
    return { statements: shown, size: this.whyNotAgain === undefined ? this.#size : 0, again };
  }
}

/**
 * Without what the client has rolled back to a savepoint of its own, and what failed. If the name of a
 * savepoint is not plain to see, nothing more is left out: rather too much is shown than too little.
 */
function inEffect(all: readonly Executed[]): readonly Executed[] {
  const kept: Executed[] = [];
  const marks = new Map<string, number>();
  let isPlain = true;
  for (const executed of all.filter(({ isFailed }) => !isFailed)) {
    const { sql, words } = executed.statement;
    const [first = ""] = words;
    if (!/^(?:SAVEPOINT|RELEASE|ROLLBACK)$/.test(first)) {
      kept.push(executed);
      continue;
    }
    const name = savepointIn(sql);
    isPlain &&= name !== undefined;
    if (!isPlain || name === undefined) continue;
    if (first === "SAVEPOINT") marks.set(name, kept.length);
    if (first === "ROLLBACK") kept.length = Math.min(kept.length, marks.get(name) ?? kept.length);
  }
  return kept;
}

const SAVEPOINT =
  /^(?:SAVEPOINT|RELEASE(?:\s+SAVEPOINT)?|ROLLBACK(?:\s+(?:WORK|TRANSACTION))?\s+TO(?:\s+SAVEPOINT)?)\s+(?:(?<word>[a-z_]\w*)|"(?<quoted>[^"]+)")$/i;

/** The name of the savepoint that a statement is about, as the server knows it. */
function savepointIn(sql: string): string | undefined {
  const { word, quoted } = SAVEPOINT.exec(sql.trim())?.groups ?? {};
  return word?.toLowerCase() ?? quoted;
}

export function digestOf({ digest, outcome, parameters }: Executed): string {
  const values = parameters === undefined ? Buffer.alloc(0) : parameters.values;
  return digest.update(outcome).update(values).digest("hex");
}

function repeatable(executed: Executed, digests: ReadonlyMap<Executed, string>): Repeatable {
  const { statement, parameters, copied, isPartial } = executed;
  return {
    sql: statement.sql,
    ...(parameters !== undefined && { parameters }),
    copied,
    digest: isPartial || !readsTables(statement) ? undefined : digests.get(executed),
  };
}

/** Whether the result depends on the database. That of a look at the clock or at the session does not. */
function readsTables({ reads, words }: RunnableStatement): boolean {
  return !reads || words.includes("FROM") || words.includes("TABLE");
}

const LONGEST_SHOWN = 60;

/** The text of a statement, with its parameters at its end. */
function shownSql({ statement, parameters }: Executed): string {
  if (parameters === undefined) return statement.sql;
  const reader = new ContentReader(parameters.values, 0);
  const formats = Array.from({ length: reader.short() }, () => reader.short());
  const values = Array.from({ length: reader.short() }, () => reader.value());
  if (values.length === 0) return statement.sql;
  const shown = values.map((value, at) => {
    const isBinary = (formats[formats.length === 1 ? 0 : at] ?? 0) === 1;
    return `$${at + 1} = ${shownValue(value, isBinary)}`;
  });
  return `${statement.sql}\n-- ${shown.join(", ")}`;
}

function shownValue(value: Buffer | undefined, isBinary: boolean): string {
  if (value === undefined) return "NULL";
  const all = isBinary ? `\\x${value.toString("hex")}` : value.toString().replaceAll(/\s/g, " ");
  const short = all.length > LONGEST_SHOWN ? `${all.slice(0, LONGEST_SHOWN)}…` : all;
  return `'${short.replaceAll("'", "''")}'`;
}
