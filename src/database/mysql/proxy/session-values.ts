import { type Cell, ControlError, type ServerSession } from "./server-session.ts";

const PLAIN = /^[\w$.]+$/;

/** The value of a setting as SQL; undefined if there is no such setting of a session. */
export async function settingValue(session: ServerSession, name: string): Promise<string | undefined> {
  try {
    const [value] = await literals(session, [`@@SESSION.${name}`]);
    return value;
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
  const values = await literals(
    session,
    names.map((name) => `@\`${name}\``),
  );
  return names.map((name, at) => [name, values[at] ?? "NULL"]);
}

/**
 * Values as SQL, whatever a client has set: their bytes come as such and not in its character set, and the
 * limit is ours.
 */
export async function literals(session: ServerSession, expressions: readonly string[]): Promise<string[]> {
  const bytes = expressions.map(
    (value) =>
      `IF(CHARSET(${value}) = 'binary', CAST(${value} AS BINARY), CAST(CONVERT(${value} USING utf8mb4) AS BINARY))`,
  );
  const [row = []] = await session.control(`SELECT ${[...expressions, ...bytes].join(", ")} LIMIT 1`);
  return expressions.map((_, at) => {
    const [typed, raw] = [row[at], row[at + expressions.length]];
    if (typed === undefined || raw === undefined) throw new Error("the server did not tell a value");
    return literal({ ...typed, bytes: raw.bytes });
  });
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
