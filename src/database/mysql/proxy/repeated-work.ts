import type { MysqlConnection } from "../mysql-connection.ts";
import { textCommand } from "./protocol/commands.ts";
import { closeCommand, executeCommand, longDataCommands, type Parameters } from "./protocol/parameters.ts";
import { ContentReader, errorFrom } from "./protocol/wire.ts";
import { type Answered, type AnswerTaker, ControlError, ServerSession } from "./server-session.ts";
import { settingStatements } from "./settings.ts";
import { allSettings, runsProcedure, unsaidSettings } from "./unsaid-settings.ts";
import { Executed, type Repeatable, type RepeatableWork } from "./work.ts";

/** The server refused what a client did before, or has ended the transaction. */
export class NotRepeated extends Error {
  readonly code: number;

  constructor(
    { code, message }: { readonly code: number; readonly message: string },
    options?: ErrorOptions,
  ) {
    super(message, options);
    this.code = code;
  }
}

/** A user without the right to choose numbers of AUTO_INCREMENT gets other ones, which the digest shows. */
const NOT_ALLOWED = 1227;

/** Does the work of a client again; returns why a result differs. */
export async function repeatWork(
  connection: MysqlConnection,
  { settings, statements }: RepeatableWork,
): Promise<string | undefined> {
  const session = new ServerSession(connection);
  session.begin();
  try {
    for (const sql of settingStatements(settings, "client")) await session.control(sql);
    const isUnsaid = statements.some(({ sql }) => runsProcedure(sql.toUpperCase().split(/\W/, 1)));
    const before = isUnsaid ? await allSettings(session) : undefined;
    const differs = await repeatAll(session, statements);
    await chooseNumber(session, "0");
    for (const made of before === undefined ? [] : await unsaidSettings(session, before))
      await session.control(`SET SESSION ${made.name} = ${made.before}`);
    for (const sql of settingStatements(settings, "plan")) await session.control(sql);
    return differs;
  } catch (thrown) {
    if (thrown instanceof ControlError) throw new NotRepeated(thrown.error, { cause: thrown });
    throw thrown;
  } finally {
    session.end();
  }
}

async function repeatAll(
  session: ServerSession,
  statements: readonly Repeatable[],
): Promise<string | undefined> {
  for (const statement of statements) {
    await chooseNumber(session, statement.insertId);
    const executed = new Executed(asIs(statement.sql), statement.parameters);
    const taker: AnswerTaker = {
      take: (part, packet) => {
        executed.take(part, packet);
        return true;
      },
      drained: async () => undefined,
    };
    const answered = await repeat(session, statement, taker);
    executed.answered(answered);
    const isSame = statement.digest === undefined ? !executed.isFailed : executed.digest === statement.digest;
    if (isSame) continue;
    if (answered.error === undefined) return `it now gives something else: ${statement.sql}`;
    throw new NotRepeated(errorFrom(answered.error));
  }
  return undefined;
}

async function repeat(session: ServerSession, statement: Repeatable, taker: AnswerTaker): Promise<Answered> {
  const { sql, parameters } = statement;
  if (parameters === undefined) return await session.ask(textCommand("query", sql), "results", taker);
  return await repeatPrepared(session, sql, parameters, taker);
}

async function repeatPrepared(
  session: ServerSession,
  sql: string,
  parameters: Parameters,
  taker: AnswerTaker,
): Promise<Answered> {
  let id: number | undefined;
  const prepared = await session.ask(textCommand("prepare", sql), "prepared", {
    take: (part, { content }) => {
      if (part === "prepared") id = new ContentReader(content, 1).number(4);
      return true;
    },
    drained: async () => undefined,
  });
  if (id === undefined) return prepared;
  for (const command of longDataCommands(id, parameters)) session.send(command);
  const answered = await session.ask(executeCommand(id, parameters), "results", taker);
  session.send(closeCommand(id));
  return answered;
}

/** The next number that a counter gives. The statement gets the same as before. */
async function chooseNumber(session: ServerSession, number: string): Promise<void> {
  try {
    await session.control(`SET insert_id = ${number}`);
  } catch (thrown) {
    if (!(thrown instanceof ControlError) || thrown.error.code !== NOT_ALLOWED) throw thrown;
  }
}

function asIs(sql: string) {
  const unread = { words: [], variables: [], isUnclear: false, end: sql.length } as const;
  return { ...unread, does: "run", sql, written: sql, reads: false } as const;
}
