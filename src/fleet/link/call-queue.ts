import { escapeLiteral } from "pg";
import { failpoint, passFailpoint } from "../../system/failpoints.ts";
import type { Answer, Call, Driver } from "../protocol/call.ts";
import type { Registration } from "../protocol/registration.ts";
import { presenceOf, ringFor } from "../store/bell.ts";
import type { PostgresRecords } from "../store/postgres-store.ts";
import { is } from "./hosts.ts";

/**
 * What is asked of another host:
 * - `transaction`: a step of a transaction over hosts, which its gate decides about (protocol/gate.ts).
 * - `change`: a method of the contract that changes a sandbox, by an operation that holds its plan. The gate
 *   decides about it too.
 * - `look`: a method that changes nothing.
 * - `service`: something beside the contract of strategies.
 */
export type Request =
  | { readonly kind: "transaction"; readonly call: Omit<Call, "deadline">; readonly dryRun: boolean }
  | {
      readonly kind: "change";
      readonly call: Omit<Call, "deadline">;
      readonly strategy: string;
      readonly name: string;
    }
  | { readonly kind: "look"; readonly strategy: string; readonly name: string }
  | { readonly kind: "service"; readonly name: string };

/** A request as it travels. */
export interface Envelope {
  readonly key: string;
  readonly host: string;
  readonly request: Request;
  /** Who sends it. */
  readonly sender: Driver;
  readonly contract: number;
}

/** A request that a host has taken. */
export interface TakenCall extends Envelope {
  /** By the clock of the database, in milliseconds. */
  readonly deadline: number;
}

/** How a call stands. */
export interface CallState {
  readonly state: "queued" | "taken" | "answered" | "cancelled" | "gone";
  readonly answer?: CallAnswer;
  readonly isLate: boolean;
  /** Of the host that has to answer: whether it is in the fleet, is up, and is the start that took it. */
  readonly isKnown: boolean;
  readonly isUp: boolean;
  readonly isSameStart: boolean;
  /** Since when nothing was heard of the host, if it is not up. */
  readonly since?: string;
}

/** What a host answers: for a gated call what its gate said, and the result or the error as plain data. */
export interface CallAnswer {
  readonly said?: Answer;
  readonly hasResult: boolean;
  readonly error?: { readonly name: string; readonly message: string };
}

const POINTS = {
  send: failpoint("call.send"),
  take: failpoint("call.take"),
  answer: failpoint("call.answer"),
  cancel: failpoint("call.cancel"),
};
/** How long a call waits until its host takes it. */
const CALL_MS = 8_000;
/** A piece of arguments, results or files, in characters. */
const PIECE = 256 * 1024;
/** How many pieces of a stream are read at once. */
const AT_ONCE = 8;
const KEPT = "1 hour";
const text = escapeLiteral;

export type PieceKind = "arguments" | "result" | "file" | "output" | "input" | "signal";

/** Methods that ask a host about a transaction are never repeated by themselves: its driver does that. */
export function isTakenAgain({ request }: Envelope): boolean {
  return request.kind === "transaction" || request.kind === "change";
}

/**
 * Moves calls from one host to another through the database, and their answers back. It decides nothing. Each
 * function is one statement, and all may be repeated.
 */
export class CallQueue {
  readonly #records: PostgresRecords;

  constructor(records: PostgresRecords) {
    this.#records = records;
  }

  /** Puts a call into the queue of its host. One that is there already stays as it is. */
  async send(envelope: Envelope, given: string): Promise<void> {
    const rest = await this.#longPieces(envelope.key, "arguments", given);
    passFailpoint(POINTS.send);
    await this.#records.run(
      ...rest,
      `INSERT INTO calls (key, host, sender, envelope, is_repeatable, deadline)
        VALUES (${text(envelope.key)}, ${text(envelope.host)}, ${text(envelope.sender.process)},
          ${text(JSON.stringify(envelope))}, ${isTakenAgain(envelope)},
          clock_timestamp() + interval '${CALL_MS} ms') ON CONFLICT DO NOTHING`,
      ringFor(envelope.host),
    );
  }

  /**
   * The next call for a host: a new one, or one that it lost with a process of its own. `has` are those that
   * this process has. Undefined with `isCurrent` false: another start has the name.
   */
  async take(
    host: string,
    from: Registration,
    has: readonly string[],
  ): Promise<{ readonly isCurrent: boolean; readonly call?: TakenCall }> {
    passFailpoint(POINTS.take);
    const start = text(from.start);
    const [[isCurrent, envelope, deadline] = []] = await this.#records.run(
      `WITH heard AS (
        UPDATE hosts SET notes = greatest(notes, ${from.notes}) WHERE ${is(host, from)} RETURNING name
      ), next AS (
        SELECT key FROM calls JOIN heard ON host = name
          WHERE (state = 'queued' OR state = 'taken' AND (is_repeatable OR taken_by = ${start}))
          AND key <> ALL (${list(has)}) ORDER BY sent_at LIMIT 1 FOR UPDATE OF calls SKIP LOCKED
      ), taken AS (
        UPDATE calls SET state = 'taken', taken_by = ${start}, taken_at = clock_timestamp()
          FROM next WHERE calls.key = next.key RETURNING envelope, ${milliseconds("deadline")}
      )
      SELECT (SELECT count(*) FROM heard), taken.* FROM (SELECT) one LEFT JOIN taken ON true`,
    );
    if (typeof envelope !== "string") return { isCurrent: isCurrent === "1" };
    const call = { ...(JSON.parse(envelope) as Envelope), deadline: Number(deadline) };
    return { isCurrent: true, call };
  }

  /** Answers a call, once. False: another start of the host has the name, and its answers count. */
  async answer(
    { key, host, sender }: Envelope,
    from: Registration,
    answer: CallAnswer,
    result: string,
  ): Promise<boolean> {
    const rest = answer.hasResult ? await this.#longPieces(key, "result", result) : [];
    passFailpoint(POINTS.answer);
    const rows = await this.#records.run(
      ...rest,
      `WITH heard AS (
        UPDATE hosts SET notes = greatest(notes, ${from.notes}) WHERE ${is(host, from)} RETURNING name
      ), answered AS (
        UPDATE calls SET state = 'answered', answer = ${text(JSON.stringify(answer))}
          FROM heard WHERE key = ${text(key)} AND state = 'taken' AND host = name
      ), rung AS (${ringFor(sender.process)})
      SELECT heard.name FROM heard, rung`,
    );
    return rows.length > 0;
  }

  async stateOf(key: string, host: string): Promise<CallState> {
    const [[state, answer, isLate, isKnown, isUp, isSameStart, since] = []] = await this.#records.run(
      `SELECT c.state, c.answer, c.deadline < clock_timestamp(), h.name IS NOT NULL,
        coalesce(h.until > clock_timestamp(), false),
        c.taken_by = h.start, to_char(h.until AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"')
        FROM (SELECT) one LEFT JOIN calls c ON c.key = ${text(key)} LEFT JOIN hosts h ON h.name = ${text(host)}`,
    );
    return {
      state: (state ?? "gone") as CallState["state"],
      ...(typeof answer === "string" && { answer: JSON.parse(answer) as CallAnswer }),
      isLate: isLate === "t",
      isKnown: isKnown === "t",
      isUp: isUp === "t",
      isSameStart: isSameStart === "t",
      ...(typeof since === "string" && { since }),
    };
  }

  /** Takes a call out of the queue that nobody has taken yet: then it never runs. */
  async cancel(key: string): Promise<boolean> {
    passFailpoint(POINTS.cancel);
    const rows = await this.#records.run(
      `UPDATE calls SET state = 'cancelled' WHERE key = ${text(key)} AND state IN ('queued', 'cancelled')
        RETURNING key`,
    );
    return rows.length > 0;
  }

  /** Adds a piece, which is there once however often it is added, and rings for whoever waits for it. */
  async addPiece(
    key: string,
    kind: PieceKind,
    position: number,
    content: string,
    reader?: string,
  ): Promise<void> {
    const bell = reader === undefined ? [] : [ringFor(reader)];
    await this.#records.run(pieceStatement(key, kind, position, content), ...bell);
  }

  /** Some pieces from this position on. Those before it are read, and go; `writer` may wait for that. */
  async piecesFrom(
    key: string,
    kind: PieceKind,
    position: number,
    writer: string,
  ): Promise<readonly string[]> {
    const those = `key = ${text(key)} AND kind = ${text(kind)}`;
    const rows = await this.#records.run(
      `WITH gone AS (DELETE FROM call_pieces WHERE ${those} AND position < ${position} RETURNING position)
        SELECT (${ringFor(writer)}) FROM (SELECT FROM gone LIMIT 1) one`,
      `SELECT content FROM call_pieces WHERE ${those} AND position >= ${position}
        ORDER BY position LIMIT ${AT_ONCE}`,
    );
    return rows.map(([content]) => content ?? "");
  }

  /** How many pieces are there that were not read. */
  async unread(key: string, kind: PieceKind): Promise<number> {
    const [[count] = []] = await this.#records.run(
      `SELECT count(*) FROM call_pieces WHERE key = ${text(key)} AND kind = ${text(kind)}`,
    );
    return Number(count);
  }

  /** Whether a process has a connection. */
  async isThere(process: string): Promise<boolean> {
    const [[isThere] = []] = await this.#records.run(presenceOf(process));
    return isThere === "t";
  }

  async piece(key: string, kind: PieceKind, position: number): Promise<string | undefined> {
    const [[content] = []] = await this.#records.run(
      `SELECT content FROM call_pieces
        WHERE key = ${text(key)} AND kind = ${text(kind)} AND position = ${position}`,
    );
    return content ?? undefined;
  }

  /** All pieces as one text. */
  async whole(key: string, kind: PieceKind): Promise<string> {
    const pieces: string[] = [];
    for (;;) {
      const piece = await this.piece(key, kind, pieces.length);
      if (piece === undefined) return pieces.join("");
      pieces.push(piece);
    }
  }

  /** Removes the pieces of a call whose answer has been read. */
  async forget(key: string): Promise<void> {
    await this.#records.run(`DELETE FROM call_pieces WHERE key = ${text(key)}`);
  }

  /** Removes what nobody reads any more. */
  async prune(): Promise<void> {
    await this.#records.run(
      `DELETE FROM calls WHERE sent_at < now() - interval '${KEPT}'
        AND (state IN ('answered', 'cancelled') OR sent_at < now() - interval '7 days')`,
      `DELETE FROM call_pieces p WHERE written_at < now() - interval '${KEPT}'
        AND NOT EXISTS (SELECT FROM calls c WHERE c.key = p.key)`,
    );
  }

  /** Writes all pieces but the last, and returns the statement for that. */
  async #longPieces(key: string, kind: PieceKind, content: string): Promise<readonly string[]> {
    const pieces = cutText(content);
    for (const [position, piece] of pieces.slice(0, -1).entries())
      await this.addPiece(key, kind, position, piece);
    return pieces.slice(-1).map((piece) => pieceStatement(key, kind, pieces.length - 1, piece));
  }
}

function pieceStatement(key: string, kind: PieceKind, position: number, content: string): string {
  return `INSERT INTO call_pieces (key, kind, position, content)
    VALUES (${text(key)}, ${text(kind)}, ${position}, ${text(content)}) ON CONFLICT DO NOTHING`;
}

/** Cuts a text, but not between the halves of a character. */
function cutText(content: string): readonly string[] {
  const pieces: string[] = [];
  for (let at = 0; at < content.length; ) {
    const last = content.charCodeAt(at + PIECE - 1);
    const end = at + PIECE - (last >= 0xd800 && last < 0xdc00 ? 1 : 0);
    pieces.push(content.slice(at, end));
    at = end;
  }
  return pieces;
}

function list(values: readonly string[]): string {
  return `ARRAY[${values.map(text).join(", ")}]::text[]`;
}

export function milliseconds(column: string): string {
  return `(extract(epoch FROM ${column}) * 1000)::bigint`;
}
