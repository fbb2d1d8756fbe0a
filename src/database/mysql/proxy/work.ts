import { createHash, type Hash } from "node:crypto";
import type { ClientUnit, DoneStatement } from "../../server/client-unit.ts";
import { effectOf } from "../../server/statement-effect.ts";
import type { AnswerPart } from "./protocol/answer.ts";
import { type Parameters, shownParameters } from "./protocol/parameters.ts";
import { errorFrom, type Packet } from "./protocol/wire.ts";
import type { Answered } from "./server-session.ts";
import type { UnitSettings } from "./settings.ts";
import type { Runnable } from "./statements/client-statement.ts";

/** A statement as it can be run again. */
export interface Repeatable {
  readonly sql: string;
  readonly parameters?: Parameters;
  /** The first number that it took from an AUTO_INCREMENT counter, which is not given back. */
  readonly insertId: string;
  /** Undefined if its result may be another one. */
  readonly digest: string | undefined;
}

/** The work of one unit, as it can be done again. */
export interface RepeatableWork {
  readonly settings: UnitSettings;
  readonly statements: readonly Repeatable[];
}

/** Of one unit, no more than this is kept to do it again. */
const MOST_BYTES = 32 << 20;
const OF_SAVEPOINTS = /^(?:SAVEPOINT|RELEASE|ROLLBACK)$/;

export function isOfSavepoints({ words }: Runnable): boolean {
  return OF_SAVEPOINTS.test(words[0] ?? "");
}

/** A statement that a client runs. */
export class Executed {
  readonly statement: Runnable;
  readonly parameters: Parameters | undefined;
  readonly #hash: Hash = createHash("sha256");
  #digest = "";
  affected = 0n;
  insertId = 0n;
  isFailed = false;
  /** The client takes the rows later, or only some of them. */
  isPartial = false;

  constructor(statement: Runnable, parameters?: Parameters) {
    this.statement = statement;
    this.parameters = parameters;
  }

  /** Takes a part of the server's answer. */
  take(part: AnswerPart, { content }: Packet): void {
    if (part === "row") this.#hash.update(content);
  }

  /** The server has answered. */
  answered({ error, ok }: Answered): void {
    this.isFailed = error !== undefined;
    this.affected = ok?.affected ?? 0n;
    this.insertId = ok?.insertId ?? 0n;
    const outcome = error === undefined ? [this.affected, this.insertId] : [errorFrom(error).code];
    this.#digest = this.#hash.update(outcome.join(" ")).digest("hex");
  }

  get digest(): string {
    return this.#digest;
  }

  /** Whether something of it may stay. A procedure that fails has done what comes before. */
  get isInEffect(): boolean {
    return !this.isFailed || this.statement.words[0] === "CALL";
  }

  get isOfSavepoints(): boolean {
    return isOfSavepoints(this.statement);
  }
}

/** What a client does until its transaction ends. */
export class Work {
  readonly #executed: Executed[] = [];
  #settings: Omit<UnitSettings, "values"> | undefined;
  readonly #own = new Map<string, string>();
  /** Of the user's variables, before a statement of this work names them. */
  readonly values = new Map<string, string>();
  #whyNotAgain: string | undefined;
  #size = 0;

  /** Called before the first statement. */
  beginWith(settings: Omit<UnitSettings, "values">): void {
    this.#settings ??= settings;
  }

  /** Settings that the work makes, with the plan's own values. */
  sets(own: readonly (readonly [name: string, value: string])[]): void {
    for (const [name, value] of own) this.#own.set(name, value);
  }

  add(executed: Executed): void {
    const { statement, parameters } = executed;
    this.#executed.push(executed);
    this.#size += statement.sql.length + (parameters?.size ?? 0);
    if (this.#size <= MOST_BYTES) return;
    this.#whyNotAgain ??= `a client sent more than ${MOST_BYTES >> 20} MiB in one transaction`;
  }

  /** The result, once the work stays; undefined if there is nothing to show and nothing to do again. */
  done(): ClientUnit | undefined {
    const all = this.#executed.filter((executed) => executed.isInEffect && isOfTables(executed));
    if (this.#settings === undefined || all.every(isQuiet)) return undefined;
    const own = [...new Map([...this.#settings.own, ...this.#own])];
    const settings = { ...this.#settings, own, values: [...this.values] };
    const statements = inEffect(all).map((executed): DoneStatement => {
      const { statement, affected, digest } = executed;
      const effect = effectOf(statement.words, !statement.reads);
      return { sql: shownSql(executed), effect, rows: Number(affected), digest };
    });
    if (this.#whyNotAgain !== undefined) return { statements, size: 0, again: { whyNot: this.#whyNotAgain } };
    const work: RepeatableWork = { settings, statements: all.map(repeatable) };
    return { statements, size: this.#size, again: { work } };
  }
}

/** Whether a statement depends on the database. A look at the session does not. */
function isOfTables({ statement: { reads, words } }: Executed): boolean {
  if (words[0] === "SET") return true;
  return !reads || words.includes("FROM") || words.includes("TABLE") || words.includes("INTO");
}

/** Whether a statement changes nothing that could land. */
function isQuiet({ isOfSavepoints, statement }: Executed): boolean {
  return isOfSavepoints || (statement.words[0] === "SET" && statement.reads);
}

/** Without what the client has rolled back to a savepoint of its own. */
function inEffect(all: readonly Executed[]): readonly Executed[] {
  const kept: Executed[] = [];
  const marks = new Map<string, number>();
  for (const executed of all) {
    const { words } = executed.statement;
    const name = words.at(-1) ?? "";
    if (!isQuiet(executed)) kept.push(executed);
    else if (words[0] === "SAVEPOINT") marks.set(name, kept.length);
    else if (words[0] === "ROLLBACK") kept.length = Math.min(kept.length, marks.get(name) ?? kept.length);
  }
  return kept;
}

function repeatable(executed: Executed): Repeatable {
  const { statement, parameters, insertId, isPartial, digest } = executed;
  return {
    sql: statement.sql,
    ...(parameters !== undefined && { parameters }),
    insertId: String(insertId),
    digest: isPartial ? undefined : digest,
  };
}

/** The text of a statement as the client wrote it, with its parameters at its end. */
function shownSql({ statement, parameters }: Executed): string {
  const bytes = Buffer.from(statement.written, "latin1");
  const text = bytes.toString();
  const written = Buffer.from(text).equals(bytes) ? text : statement.written;
  const values = parameters === undefined ? [] : shownParameters(parameters);
  return values.length === 0 ? written : `${written}\n-- ? = ${values.join(", ")}`;
}
