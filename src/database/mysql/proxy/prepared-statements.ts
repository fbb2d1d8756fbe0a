import type { ClientParts } from "./client-parts.ts";
import { ClientFailure } from "./client-units.ts";
import type { AnswerPart, AnswerShape } from "./protocol/answer.ts";
import { COMMAND, textCommand } from "./protocol/commands.ts";
import {
  asksForCursor,
  executeCommand,
  longDataCommands,
  type Parameters,
  parametersFrom,
} from "./protocol/parameters.ts";
import { ContentReader, type Packet, ProtocolViolation } from "./protocol/wire.ts";
import type { Replies } from "./replies.ts";
import type { ClientStatement, Runnable } from "./statements/client-statement.ts";
import { Executed } from "./work.ts";

/** Statements that the server never sees have numbers from here on. */
const FIRST_OWN = 0x40_00_00_00;
/** A client may have sent so much of long values. */
const MOST_LONG = 64 << 20;
const MOST_STATEMENTS = 16_382;

/** The client whose statements these are. */
export interface PreparingClient {
  readonly parts: ClientParts;
  readonly replies: Replies;
  /** Throws a `ClientFailure` if it is none, or several. */
  onlyStatement(text: string): ClientStatement;
  runnable(statement: Runnable): Runnable;
  perform(statement: ClientStatement): Promise<boolean>;
  run(executed: Executed, command: Buffer, before: () => void): Promise<boolean>;
  pass(
    command: Buffer,
    shape: AnswerShape,
    onPart: (part: AnswerPart, packet: Packet) => void,
  ): Promise<void>;
}

interface Prepared {
  readonly statement: ClientStatement;
  readonly count: number;
  types: Buffer;
  /** Long values, in the pieces in which they came. */
  readonly long: Map<number, Buffer[]>;
  longBytes: number;
}

/**
 * The prepared statements of one client. The server numbers them for all clients of the plan; a client
 * reaches only its own. Long values wait here for the execution that needs them, and cursors are not opened:
 * a client gets all rows at once, as a server may do it.
 */
export class PreparedStatements {
  readonly #client: PreparingClient;
  readonly #all = new Map<number, Prepared>();
  #ownNumber = FIRST_OWN;

  constructor(client: PreparingClient) {
    this.#client = client;
  }

  /** Handles a command; false if it is about something else. */
  async take(content: Buffer): Promise<boolean> {
    switch (content[0]) {
      case COMMAND.prepare:
        await this.#prepare(content.toString("latin1", 1));
        return true;
      case COMMAND.execute:
        await this.#execute(content);
        return true;
      case COMMAND.longData:
        this.#addLong(content);
        return true;
      case COMMAND.closeStatement:
        this.#close(numberIn(content));
        return true;
      case COMMAND.resetStatement:
        forgetLong(this.#known(content, "mysqld_stmt_reset"));
        this.#client.replies.ok();
        return true;
      case COMMAND.fetch:
        throw unknown(content, "mysqld_stmt_fetch");
      default:
        return false;
    }
  }

  /** The client is gone, or begins anew. */
  forgetAll(): void {
    for (const id of [...this.#all.keys()]) this.#close(id);
  }

  async #prepare(text: string): Promise<void> {
    if (this.#all.size >= MOST_STATEMENTS) throw new ClientFailure(TOO_MANY);
    const statement = this.#client.onlyStatement(text);
    if (statement.does !== "run") return this.#prepareOwn(statement);
    let answer: Buffer | undefined;
    await this.#client.pass(textCommand("prepare", statement.sql), "prepared", (part, { content }) => {
      if (part === "prepared") answer = Buffer.from(content);
    });
    if (answer === undefined) return;
    const reader = new ContentReader(answer, 1);
    const [id, , count] = [reader.number(4), reader.number(2), reader.number(2)];
    this.#all.set(id, prepared(statement, count));
  }

  #prepareOwn(statement: ClientStatement): void {
    if (statement.does === "set" && statement.sql.includes("?"))
      throw new ClientFailure({ ...TOO_MANY, code: 1235, message: "SET can't have parameters in a plan" });
    this.#ownNumber += 1;
    const answer = Buffer.alloc(12);
    answer.writeUInt32LE(this.#ownNumber, 1);
    this.#all.set(this.#ownNumber, prepared(statement, 0));
    this.#client.replies.send(answer);
  }

  async #execute(content: Buffer): Promise<void> {
    const { parts } = this.#client;
    const known = this.#known(content, "mysqld_stmt_execute");
    const { statement, count } = known;
    if (statement.does !== "run") return void (await this.#client.perform(statement));
    const long = new Map([...known.long].map(([number, pieces]) => [number, Buffer.concat(pieces)]));
    forgetLong(known);
    const parameters: Parameters = parametersFrom(content, count, known.types, long);
    if (parameters.types.length < count * 2)
      throw new ProtocolViolation("the types of parameters are missing");
    known.types = parameters.types;
    const id = numberIn(content);
    const executed = new Executed(this.#client.runnable(statement), parameters);
    executed.isPartial = asksForCursor(content);
    await this.#client.run(executed, executeCommand(id, parameters), () => {
      for (const each of longDataCommands(id, parameters)) parts.session.send(each);
    });
  }

  #addLong(content: Buffer): void {
    const known = this.#all.get(numberIn(content));
    if (known === undefined || content.length < 7) return;
    const number = content.readUInt16LE(5);
    known.longBytes += content.length;
    if (known.longBytes > MOST_LONG)
      throw new ProtocolViolation(`long values have more than ${MOST_LONG >> 20} MiB`);
    const pieces = known.long.get(number) ?? [];
    pieces.push(content.subarray(7));
    known.long.set(number, pieces);
  }

  /** The server is told in the next turn of a client. */
  #close(id: number): void {
    if (this.#all.delete(id) && id < FIRST_OWN) this.#client.parts.oldStatements.push(id);
  }

  #known(content: Buffer, where: string): Prepared {
    const prepared = this.#all.get(numberIn(content));
    if (prepared === undefined) throw unknown(content, where);
    return prepared;
  }
}

const TOO_MANY = {
  code: 1461,
  state: "42000",
  message: `Can't create more than max_prepared_stmt_count statements (current value: ${MOST_STATEMENTS})`,
};

function numberIn(content: Buffer): number {
  return content.length < 5 ? 0 : content.readUInt32LE(1);
}

function unknown(content: Buffer, where: string): ClientFailure {
  const message = `Unknown prepared statement handler (${numberIn(content)}) given to ${where}`;
  return new ClientFailure({ code: 1243, state: "HY000", message });
}

function prepared(statement: ClientStatement, count: number): Prepared {
  return { statement, count, types: Buffer.alloc(0), long: new Map(), longBytes: 0 };
}

function forgetLong(known: Prepared): void {
  known.long.clear();
  known.longBytes = 0;
}
