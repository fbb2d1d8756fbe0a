import type { ServerSession } from "./server-session.ts";
import { settingValue, valuesOf } from "./session-values.ts";
import { type AllSettings, allSettings, unsaidSettings } from "./unsaid-settings.ts";

/** Of a variable that has another value at every moment, the plan has no own. */
const OWN = new Map([["timestamp", "DEFAULT"]]);

/** Settings by which the plan's transaction is what it is. */
const OF_PLAN =
  /^(?:(?:wait|interactive|net_write|net_read)_timeout|idle_(?:(?:readonly|write)_)?transaction_timeout|(?:tx|transaction)_isolation|(?:tx|transaction)_read_only|innodb_snapshot_isolation|completion_type)$/;

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
  /** All settings, before a client has run a procedure in its turns. */
  #watched: AllSettings | undefined;

  constructor(own: ReadonlyMap<string, string>, database: string) {
    this.#own = new Map(own);
    this.#database = database;
  }

  /** Makes the settings of a client, or those of the plan. */
  async switchTo(session: ServerSession, next: ClientSettings | undefined): Promise<void> {
    const last = this.#active;
    if (last === next) return;
    if (last !== undefined) await this.noteUnsaid(session, last);
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
      const own = OWN.get(name) ?? (await settingValue(session, name));
      if (own !== undefined) this.#own.set(name, own);
    }
  }

  /** Reads what a client has set. */
  async note(session: ServerSession, client: ClientSettings, names: readonly string[]): Promise<void> {
    for (const name of names.filter((each) => this.#own.has(each)))
      client.variables.set(name, (await settingValue(session, name)) ?? "DEFAULT");
  }

  /** Called before a client runs a procedure, which may make settings that its text does not say. */
  async watch(session: ServerSession): Promise<void> {
    this.#watched ??= await allSettings(session);
  }

  /** A procedure has run: what it has set is the client's own, unless the plan needs it as it was. */
  async noteUnsaid(session: ServerSession, client: ClientSettings): Promise<void> {
    const watched = this.#watched;
    if (watched === undefined) return;
    this.#watched = undefined;
    for (const { name, before, after } of await unsaidSettings(session, watched)) {
      if (OF_PLAN.test(name)) await session.control(`SET SESSION ${name} = ${before}`);
      else {
        if (!this.#own.has(name)) this.#own.set(name, before);
        client.variables.set(name, after);
      }
    }
  }

  /** Makes the settings again that a client had before. */
  async goBack(
    session: ServerSession,
    client: ClientSettings,
    before: ReadonlyMap<string, string>,
  ): Promise<void> {
    const changed = [...client.variables].filter(([name, value]) => before.get(name) !== value);
    const set = changed.map(([name]) => `SESSION ${name} = ${before.get(name) ?? this.#own.get(name)}`);
    await session.control(`SET ${set.join(", ")}`);
    client.variables.clear();
    for (const [name, value] of before) client.variables.set(name, value);
  }

  /** The value in force for a client, as SQL. */
  valueOf(client: ClientSettings, name: string): string {
    return client.variables.get(name) ?? this.#own.get(name) ?? "DEFAULT";
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

  async #saveValues(session: ServerSession, client: ClientSettings): Promise<void> {
    client.values.clear();
    for (const [name, value] of await valuesOf(session, [...client.named])) client.values.set(name, value);
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

export function quotedName(name: string): string {
  return `\`${name.replaceAll("`", "``")}\``;
}
