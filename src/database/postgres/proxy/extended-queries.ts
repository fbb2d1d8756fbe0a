import type { ClientMessage } from "./client-messages.ts";
import { type ClientStatement, ownName, type StatementReader } from "./client-statement.ts";
import { ClientFailure } from "./client-units.ts";
import type { ServerSession } from "./server-session.ts";
import {
  BOUND,
  CLOSED,
  type ClientError,
  ContentReader,
  FLUSH,
  message,
  NO_DATA,
  NO_PARAMETERS,
  PARSED,
  SYNC,
} from "./wire.ts";
import { Executed, type Parameters, type RunnableStatement, type Work } from "./work.ts";

/** What this needs of a client's session. */
export interface QueryingClient {
  readonly parts: { readonly session: ServerSession };
  readonly units: { readonly isOpen: boolean; readonly work: Work };
  readonly reader: StatementReader;
  /** Whether the request has failed, so that the rest of it is not done. */
  readonly hasFailed: boolean;
  /** Waits for a turn, unless the client has it. */
  enter(): Promise<void>;
  answer(bytes: Buffer): boolean;
  /** Waits until the server has answered everything. */
  allAnswered(): Promise<void>;
  perform(statement: Exclude<ClientStatement, RunnableStatement>): Promise<void>;
  assertMay(statement: RunnableStatement): void;
  note(text: string): void;
}

/** A statement that a client has prepared. */
interface Prepared {
  readonly statement: ClientStatement | undefined;
  readonly text: string;
  readonly types: Buffer;
}

interface Portal {
  readonly statement: ClientStatement | undefined;
  readonly parameters: Parameters;
  executed?: Executed;
}

/**
 * The extended queries of one client. Its prepared statements have names of its own on the server. The one
 * without a name is prepared again where other work came in between. Portals live as long as a unit of work,
 * so their names need no care.
 */
export class ExtendedQueries {
  readonly #client: QueryingClient;
  readonly #prefix: string;
  readonly #prepared = new Map<string, Prepared>();
  readonly #portals = new Map<string, Portal>();
  /** When the statement without a name was prepared, as `ServerSession.controls` counts. */
  #unnamedAt: number | undefined;
  /** Whether statements with names may be prepared, by messages or by PREPARE. */
  hasNames = false;

  constructor(client: QueryingClient, prefix: string) {
    this.#client = client;
    this.#prefix = prefix;
  }

  /** A unit of work begins. */
  begin(): void {
    this.#unnamedAt = undefined;
    this.#portals.clear();
  }

  async take({ type, bytes }: ClientMessage): Promise<void> {
    const reader = new ContentReader(bytes);
    if (type === "P") return await this.#parse(reader);
    if (type === "B") return await this.#bind(reader);
    if (type === "D") return await this.#describe(reader, bytes);
    if (type === "E") return await this.#execute(reader, bytes);
    if (type === "C") return await this.#close(reader, bytes);
    if (this.#client.units.isOpen) await this.#session.send(FLUSH);
  }

  /** Removes what the client has prepared. */
  async forgetAll(): Promise<void> {
    this.#prepared.clear();
    if (!this.hasNames) return;
    this.hasNames = false;
    const names = await this.#session.control(`SELECT name FROM pg_catalog.pg_prepared_statements
      WHERE pg_catalog.starts_with(name, '${this.#prefix}')`);
    for (const [name] of names)
      await this.#session.send(message("C", Buffer.from("S"), name ?? ""), { ends: "3", hidden: true });
    await this.#session.send(SYNC, { ends: "Z", hidden: true });
    await this.#session.answered();
  }

  get #session() {
    return this.#client.parts.session;
  }

  async #parse(reader: ContentReader): Promise<void> {
    const [name, text] = [reader.text(), reader.text()];
    const types = Buffer.from(reader.rest);
    const statements = this.#client.reader.read(text);
    if (statements.length > 1) throw new ClientFailure(SEVERAL);
    const [statement] = statements;
    if (name !== "") this.hasNames = true;
    await this.#client.enter();
    if (statement !== undefined && statement.does !== "run") {
      if (!(await this.#quiet())) return;
      if (statement.does === "refused") return await this.#client.perform(statement);
      this.#prepared.set(name, { statement, text, types });
      this.#client.answer(PARSED);
      return;
    }
    const sql = statement?.sql ?? text;
    const before = this.#prepared.get(name);
    this.#prepared.set(name, { statement, text: sql, types });
    if (name === "") this.#unnamedAt = this.#session.controls;
    const on = (type: string) => {
      if (type !== "E") return;
      if (before === undefined || name === "") this.#prepared.delete(name);
      else this.#prepared.set(name, before);
    };
    await this.#session.send(message("P", this.#own(name), sql, types), { ends: "1", on });
  }

  async #bind(reader: ContentReader): Promise<void> {
    const [portal, name] = [reader.text(), reader.text()];
    const values = Buffer.from(reader.rest);
    const prepared = this.#prepared.get(name);
    if (prepared === undefined && name !== "") throw new ClientFailure(notPrepared(name));
    const { statement, types = Buffer.alloc(2) } = prepared ?? {};
    await this.#client.enter();
    this.#portals.set(portal, { statement, parameters: { types, values } });
    if (statement !== undefined && statement.does !== "run") {
      if (await this.#quiet()) this.#client.answer(BOUND);
      return;
    }
    await this.#ensureUnnamed(name);
    if (portal !== "") this.#client.units.work.hasCursors = true;
    await this.#session.send(message("B", portal, this.#own(name), values), { ends: "2" });
  }

  async #describe(reader: ContentReader, bytes: Buffer): Promise<void> {
    const [kind, name] = [reader.byte(), reader.text()];
    await this.#client.enter();
    const { statement } = (kind === "S" ? this.#prepared : this.#portals).get(name) ?? {};
    if (statement !== undefined && statement.does !== "run") {
      if (!(await this.#quiet())) return;
      this.#client.answer(kind === "S" ? Buffer.concat([NO_PARAMETERS, NO_DATA]) : NO_DATA);
      return;
    }
    if (kind === "S") await this.#ensureUnnamed(name);
    const asked = kind === "S" ? message("D", Buffer.from("S"), this.#own(name)) : bytes;
    await this.#session.send(asked, { ends: "Tn" });
  }

  async #execute(reader: ContentReader, bytes: Buffer): Promise<void> {
    const portal = this.#portals.get(reader.text());
    const { statement } = portal ?? {};
    await this.#client.enter();
    if (statement !== undefined && statement.does !== "run") {
      if (await this.#quiet()) await this.#client.perform(statement);
      return;
    }
    if (statement !== undefined && portal !== undefined) {
      this.#client.assertMay(statement);
      this.#client.note(statement.sql);
      portal.executed ??= this.#client.units.work.add(new Executed(statement, portal.parameters));
    }
    const executed = portal?.executed;
    await this.#session.send(bytes, {
      ends: "CsI",
      digest: () => executed?.digest,
      on: (type, answer) => executed?.take(type, answer),
    });
  }

  async #close(reader: ContentReader, bytes: Buffer): Promise<void> {
    const [kind, name] = [reader.byte(), reader.text()];
    await this.#client.enter();
    const from = kind === "S" ? this.#prepared : this.#portals;
    const { statement } = from.get(name) ?? {};
    from.delete(name);
    if (statement !== undefined && statement.does !== "run") {
      if (await this.#quiet()) this.#client.answer(CLOSED);
      return;
    }
    const asked = kind === "S" ? message("C", Buffer.from("S"), this.#own(name)) : bytes;
    await this.#session.send(asked, { ends: "3" });
  }

  /** Prepares the statement without a name again, if another one has taken its place. */
  async #ensureUnnamed(name: string): Promise<void> {
    const prepared = this.#prepared.get("");
    const { controls } = this.#session;
    if (name !== "" || this.#unnamedAt === controls || prepared === undefined) return;
    this.#unnamedAt = controls;
    const again = message("P", "", prepared.text, prepared.types);
    await this.#session.send(again, { ends: "1", hides: "1" });
  }

  /** Waits for what was asked before; false if that failed, so that the rest is not done. */
  async #quiet(): Promise<boolean> {
    await this.#client.allAnswered();
    return !this.#client.hasFailed;
  }

  #own(name: string): string {
    return name === "" ? "" : ownName(this.#prefix, name);
  }
}

const SEVERAL: ClientError = {
  state: "42601",
  message: "cannot insert multiple commands into a prepared statement",
};

function notPrepared(name: string): ClientError {
  return {
    state: "26000",
    message: `prepared statement "${name}" does not exist`,
    hint: "In a plan, a statement that PREPARE made is run by EXECUTE.",
  };
}
