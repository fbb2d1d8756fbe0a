import { ASK_PASSWORD, ContentReader, ProtocolViolation, versionSpoken } from "./wire.ts";

/** The first packet of a client: what it asks for before it is a session. */
type Startup = { readonly asks: "encryption" } | AskedCancel | AskedSession;

interface AskedCancel {
  readonly asks: "cancel";
  readonly processId: number;
  readonly key: number;
}

interface AskedSession {
  readonly asks: "session";
  readonly version: number;
  readonly parameters: ReadonlyMap<string, string>;
}

/** A client that wants to be a session, with its password and what it said after it. */
export interface SessionWish {
  readonly asks: "session";
  readonly parameters: ReadonlyMap<string, string>;
  readonly password: string;
  readonly rest: Buffer;
}

type Wish = AskedCancel | SessionWish;

const SSL = 80877103;
const GSS = 80877104;
const CANCEL = 80877102;
const VERSION_3 = 3;
/** Version 3.2 differs from 3.0 only in keys for cancels that may be longer. */
const NEWEST = (VERSION_3 << 16) | 2;
/** Names of options of the protocol itself begin with this. */
const OPTION = "_pq_.";
const LONGEST = 10_000;
const PASSWORD = "p".charCodeAt(0);

/** Reads the first packet; undefined if it is not complete. */
function readStartup(bytes: Buffer): { readonly startup: Startup; readonly length: number } | undefined {
  if (bytes.length < 8) return undefined;
  const length = bytes.readUInt32BE(0);
  if (length < 8 || length > LONGEST) throw new ProtocolViolation("this is no PostgreSQL client");
  if (bytes.length < length) return undefined;
  return { startup: startupFrom(bytes.subarray(0, length)), length };
}

/** What a client says before it is a session: what it asks for, and its password. */
export class FirstWords {
  #bytes: Buffer = Buffer.alloc(0);
  #asks: AskedSession | undefined;

  /** Takes what came; returns what the client wants, once that is complete. */
  take(bytes: Buffer, answer: (bytes: Buffer | string) => void): Wish | undefined {
    this.#bytes = Buffer.concat([this.#bytes, bytes]);
    if (this.#asks === undefined) {
      const startup = this.#startup(answer);
      if (startup?.asks !== "session") return startup;
      this.#asks = startup;
      answer(Buffer.concat([negotiation(startup), ASK_PASSWORD]));
    }
    const password = passwordIn(this.#bytes);
    if (password === undefined) return undefined;
    const { parameters } = this.#asks;
    return {
      ...{ asks: "session", parameters, password: password.text },
      rest: this.#bytes.subarray(password.length),
    };
  }

  #startup(answer: (bytes: string) => void): Exclude<Startup, { readonly asks: "encryption" }> | undefined {
    for (let read = readStartup(this.#bytes); read !== undefined; read = readStartup(this.#bytes)) {
      this.#bytes = this.#bytes.subarray(read.length);
      if (read.startup.asks !== "encryption") return read.startup;
      answer("N");
    }
    return undefined;
  }
}

/** The answer to the question for a password; undefined if it is not complete. */
function passwordIn(bytes: Buffer): { readonly text: string; readonly length: number } | undefined {
  if (bytes.length < 5) return undefined;
  const length = bytes.readUInt32BE(1) + 1;
  if (bytes[0] !== PASSWORD || length < 6 || length > LONGEST)
    throw new ProtocolViolation("this is no password");
  if (bytes.length < length) return undefined;
  return { text: new ContentReader(bytes.subarray(0, length)).anyText(), length };
}

function startupFrom(bytes: Buffer): Startup {
  const code = bytes.readUInt32BE(4);
  if (code === SSL || code === GSS) return { asks: "encryption" };
  if (code === CANCEL && bytes.length >= 16)
    return { asks: "cancel", processId: bytes.readUInt32BE(8), key: bytes.readUInt32BE(12) };
  if (code >> 16 !== VERSION_3)
    throw new ProtocolViolation(`version ${code >> 16} of the protocol is not known here`);
  const reader = new ContentReader(bytes, 8);
  const parameters = new Map<string, string>();
  for (let name = reader.text(); name !== ""; name = reader.text()) parameters.set(name, reader.text());
  return { asks: "session", version: code, parameters };
}

/** The answer to a client that asks for more than is known here; empty for any other. */
function negotiation({ version, parameters }: AskedSession): Buffer {
  const unknown = [...parameters.keys()].filter((name) => name.startsWith(OPTION));
  if (version <= NEWEST && unknown.length === 0) return Buffer.alloc(0);
  return versionSpoken(Math.min(version, NEWEST), unknown);
}

/** Parameters of a startup that are no settings of the session. */
const NO_SETTINGS = ["user", "database", "options", "replication", "application_name"];

/** The settings that a client asks for when it connects, those of its `options` included. */
export function settingsOf(parameters: ReadonlyMap<string, string>): ReadonlyMap<string, string> {
  const settings = new Map<string, string>();
  for (const [name, value] of parameters)
    if (!NO_SETTINGS.includes(name) && !name.startsWith(OPTION)) settings.set(name, value);
  const words = parameters.get("options")?.match(/(?:\\.|[^\s\\])+/g) ?? [];
  const options = words.map((word) => word.replace(/\\(.)/g, "$1")).join("\0");
  // `-c NAME=VALUE`, `-cNAME=VALUE` or `--NAME=VALUE`
  for (const option of options.split(/\0(?=-)/).filter(Boolean)) {
    const [, name, value = ""] = /^(?:-c\0?|--)([^=]+)=(.*)$/s.exec(option) ?? [];
    if (name === undefined) throw new ProtocolViolation(`the option '${option}' is not known here`);
    settings.set(name.replaceAll("-", "_"), value);
  }
  return settings;
}
