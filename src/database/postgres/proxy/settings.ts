import type { MadeSetting } from "./client-statement.ts";
import type { ServerSession } from "./server-session.ts";

/**
 * The settings of a client's session. All clients share one session of the server, which has the plan's own
 * settings between their units of work: a unit begins with those of its client, and ends with the plan's.
 */
export interface Setting {
  readonly name: string;
  readonly value: string;
  /** What the plan has there. */
  readonly own: string;
}

const READ = `SELECT name, setting, coalesce(reset_val, '') FROM pg_catalog.pg_settings
  WHERE source = 'session' AND name NOT LIKE 'transaction\\_%'
  UNION ALL SELECT 'role', pg_catalog.current_setting('role'), 'none'`;

/** The settings of the session that are not those of its beginning: name, value, and the value then. */
type Rows = ReadonlyMap<string, { readonly value: string; readonly first: string }>;

export class PlanSettings {
  readonly #session: ServerSession;
  #own: Rows | undefined;
  /** Settings that applications have made up: the server lists them nowhere. */
  readonly #madeUp = new Set<string>();

  constructor(session: ServerSession) {
    this.#session = session;
  }

  /** Remembers what the plan has set. Called before the first client sets anything. */
  async learn(): Promise<void> {
    this.#own ??= await this.#read();
  }

  /**
   * The settings in effect. `kept` are those that a client made for its whole session: of those before, and
   * those that it has made since. What else differs, it set for its transaction only.
   */
  async now(before: readonly Setting[], made: ReadonlyMap<string, MadeSetting>) {
    for (const name of made.keys()) if (name.includes(".")) this.#madeUp.add(name);
    const now = await this.#read();
    const names = new Set([...now.keys(), ...(this.#own?.keys() ?? []), ...before.map(({ name }) => name)]);
    const changed: Setting[] = [];
    for (const name of names) {
      const own = this.#own?.get(name)?.value ?? now.get(name)?.first;
      const value = now.get(name)?.value ?? own;
      if (own !== undefined && value !== undefined && value !== own) changed.push({ name, value, own });
    }
    const isMade = ({ name }: Setting) => made.get(name.toLowerCase())?.isLocal === false;
    return { kept: [...before.filter((each) => !isMade(each)), ...changed.filter(isMade)], changed };
  }

  async #read(): Promise<Rows> {
    const more = [...this.#madeUp].map((name) => {
      return `UNION ALL SELECT ${quoted(name)}, coalesce(pg_catalog.current_setting(${quoted(name)}, true), ''), ''`;
    });
    const rows = await this.#session.control([READ, ...more].join(" "));
    return new Map(
      rows.map(([name, value, first]) => [name ?? "", { value: value ?? "", first: first ?? "" }] as const),
    );
  }
}

/** The statement that makes settings, or goes back to those of the plan; undefined if there are none. */
export function settingStatement(settings: readonly Setting[], to: "client" | "plan"): string | undefined {
  if (settings.length === 0) return undefined;
  // A role may not be allowed to make the other settings.
  const roleAt = to === "client" ? 1 : -1;
  const rank = ({ name }: Setting) => (name === "role" ? roleAt : 0);
  const calls = settings
    .toSorted((a, b) => rank(a) - rank(b))
    .map(({ name, value, own }) => {
      return `set_config(${quoted(name)}, ${quoted(to === "client" ? value : own)}, true)`;
    });
  return `SELECT ${calls.join(", ")}`;
}

/** A value as SQL, whatever the session says about backslashes in strings. */
function quoted(value: string): string {
  return `E'${value.replaceAll("\\", "\\\\").replaceAll("'", "''")}'`;
}
