import { type Cell, ControlError, type ServerSession } from "./server-session.ts";

/** Of a variable that has another value at every moment, the plan has no own. */
const OWN = new Map([["timestamp", "DEFAULT"]]);
const RESULTS = "character_set_results";
const PLAIN = /^[\w$.]+$/;

/** What a client has set for its session, as SQL. */
export class ClientSettings {
  readonly variables: Map<string, string>;
  database: string | undefined;
  /** The user's variables that its statements name. */
  readonly named = new Set<string>();
  readonly values = new Map<string, string>();
  insertId = 0n;

  constructor(variables: ReadonlyMap<string, string> = new Map(), database?: string) {
    this.variables = new Map(variables);
    this.database = database;
  }
}

/** Settings as one unit of work began with them, and those of the plan: what doing it again needs. */
export interface UnitSettings {
  /** In force when it began; those of the plan for all that it makes besides. */
  readonly client: readonly (readonly [name: string, value: string])[];
  readonly own: readonly (readonly [name: string, value: string])[];
  readonly database: string;
  readonly ownDatabase: string;
  /** Of the user's variables. */
  readonly values: readonly (readonly [name: string, value: string])[];
  readonly insertId: string;
}

/**
 * The settings of the one session that all clients of a plan share. They are those of the client whose turn
 * it is, or was last; another one, and the plan itself, first switch them.
 */
export class SessionSettings {
  readonly #own: Map<string, string>;
  readonly #database: string;
  #active: ClientSettings | undefined;

  constructor(own: ReadonlyMap<string, string>, database: string) {
    this.#own = new Map(own);
    this.#database = database;
  }

  /** Makes the settings of a client, or those of the plan. */
  async switchTo(session: ServerSession, next: ClientSettings | undefined): Promise<void> {
    const last = this.#active;
    if (last === next) return;
    if (last !== undefined && last.named.size > 0) await this.#saveValues(session, last);
    // If a setting can't be made any more, that of the last client must not stay unnoticed.
    this.#active = last ?? next;
    const [from, to] = [this.#of(last), this.#of(next)];
    const names = new Set([...from.keys(), ...to.keys()]);
    const changed = [...names].filter((name) => from.get(name) !== to.get(name));
    const set = changed.map((name) => `SESSION ${name} = ${to.get(name) ?? this.#own.get(name)}`);
    const values = [...(next?.values ?? [])].map(([name, value]) => `@\`${name}\` = ${value}`);
    const insertId = next === undefined ? [] : [`last_insert_id = ${next.insertId}`];
    const all = [...set, ...values, ...insertId];
    if (all.length > 0) await session.control(`SET ${all.join(", ")}`);
    const [before, after] = [last?.database ?? this.#database, next?.database ?? this.#database];
    if (before !== after) await session.control(`USE ${quotedName(after)}`);
    this.#active = next;
  }

  /** Learns the plan's own values of settings, before a client makes them for the first time. */
  async learn(session: ServerSession, names: readonly string[]): Promise<void> {
    for (const name of names.filter((each) => !this.#own.has(each))) {
      const own = OWN.get(name) ?? (await read(session, name));
      if (own !== undefined) this.#own.set(name, own);
    }
  }

  /** Reads what a client has set. */
  async note(session: ServerSession, client: ClientSettings, names: readonly string[]): Promise<void> {
    for (const name of names.filter((each) => this.#own.has(each)))
      client.variables.set(name, (await read(session, name)) ?? "DEFAULT");
  }

  /** The settings in force for a client. */
  now(client: ClientSettings): Omit<UnitSettings, "values"> {
    return {
      client: [...client.variables],
      own: this.ownOf([...client.variables.keys()]),
      database: client.database ?? this.#database,
      ownDatabase: this.#database,
      insertId: String(client.insertId),
    };
  }

  /** The plan's own values. */
  ownOf(names: readonly string[]): [name: string, value: string][] {
    return names.map((name) => [name, this.#own.get(name) ?? "DEFAULT"]);
  }

  /** The values in another character set than the plan's would be lost. */
  async #saveValues(session: ServerSession, client: ClientSettings): Promise<void> {
    if (client.variables.has(RESULTS)) await session.control(`SET ${RESULTS} = ${this.#own.get(RESULTS)}`);
    client.values.clear();
    for (const [name, value] of await valuesOf(session, [...client.named])) client.values.set(name, value);
    if (client.variables.has(RESULTS))
      await session.control(`SET ${RESULTS} = ${client.variables.get(RESULTS)}`);
    const names = [...client.values.keys()];
    if (names.length > 0)
      await session.control(`SET ${names.map((name) => `@\`${name}\` = NULL`).join(", ")}`);
  }

  #of(client: ClientSettings | undefined): ReadonlyMap<string, string> {
    return client?.variables ?? new Map();
  }
}

/** The statements that make the settings of a unit, or those of the plan. */
export function settingStatements(settings: UnitSettings, to: "client" | "plan"): string[] {
  const { client, own, values, database, ownDatabase, insertId } = settings;
  const made = (to === "client" ? client : own).map(([name, value]) => `SESSION ${name} = ${value}`);
  const users = values.map(([name, value]) => `@\`${name}\` = ${to === "client" ? value : "NULL"}`);
  const inserted = to === "client" && insertId !== "0" ? [`last_insert_id = ${insertId}`] : [];
  const all = [...made, ...users, ...inserted];
  return [
    ...(all.length > 0 ? [`SET ${all.join(", ")}`] : []),
    ...(database === ownDatabase ? [] : [`USE ${quotedName(to === "client" ? database : ownDatabase)}`]),
  ];
}

/** The value of a setting as SQL; undefined if there is no such setting of a session. */
async function read(session: ServerSession, name: string): Promise<string | undefined> {
  try {
    const [[cell] = []] = await session.control(`SELECT @@SESSION.${name}`);
    return cell === undefined ? undefined : literal(cell);
  } catch (thrown) {
    if (thrown instanceof ControlError) return undefined;
    throw thrown;
  }
}

/** The values of the user's variables, as SQL. */
export async function valuesOf(
  session: ServerSession,
  named: readonly string[],
): Promise<[string, string][]> {
  const names = [...new Set(named)].filter((name) => PLAIN.test(name));
  if (names.length === 0) return [];
  const [row = []] = await session.control(`SELECT ${names.map((name) => `@\`${name}\``).join(", ")}`);
  return names.map((name, at) => [name, literal(row[at] as Cell)]);
}

const INTEGERS = [1, 2, 3, 8, 9, 13];
const DECIMALS = [0, 246];
const FLOATS = [4, 5];
const BYTES = 63;

/** A value as SQL that is the same in every character set and mode. */
function literal({ bytes, type, characterSet }: Cell): string {
  if (bytes === undefined) return "NULL";
  const text = bytes.toString("latin1");
  if (INTEGERS.includes(type) || DECIMALS.includes(type)) return text;
  if (FLOATS.includes(type)) return text.includes("e") ? text : `${text}e0`;
  if (characterSet === BYTES) return bytes.length === 0 ? "''" : `x'${bytes.toString("hex")}'`;
  return /^[\w ,:.+/-]*$/.test(text) ? `'${text}'` : `_utf8mb4 x'${bytes.toString("hex")}'`;
}

export function quotedName(name: string): string {
  return `\`${name.replaceAll("`", "``")}\``;
}
