import { createHash, timingSafeEqual } from "node:crypto";
import { ContentReader, ProtocolViolation } from "./wire.ts";

/** Flags by which client and server agree on the protocol. */
export const CAPABILITY = {
  /** A client of MariaDB leaves it out, and says what it knows beyond MySQL. */
  mysql: 1,
  foundRows: 1 << 1,
  longFlag: 1 << 2,
  withDatabase: 1 << 3,
  compress: 1 << 5,
  ignoreSpace: 1 << 8,
  protocol41: 1 << 9,
  interactive: 1 << 10,
  encryption: 1 << 11,
  transactions: 1 << 13,
  secureConnection: 1 << 15,
  multiStatements: 1 << 16,
  multiResults: 1 << 17,
  preparedMultiResults: 1 << 18,
  pluginAuthentication: 1 << 19,
  attributes: 1 << 20,
  countedAuthentication: 1 << 21,
} as const;

/** MariaDB's own: definitions of columns say more. */
const EXTENDED_METADATA = 1 << 3;

const OFFERED =
  CAPABILITY.foundRows |
  CAPABILITY.longFlag |
  CAPABILITY.withDatabase |
  CAPABILITY.ignoreSpace |
  CAPABILITY.protocol41 |
  CAPABILITY.interactive |
  CAPABILITY.transactions |
  CAPABILITY.secureConnection |
  CAPABILITY.multiStatements |
  CAPABILITY.multiResults |
  CAPABILITY.preparedMultiResults |
  CAPABILITY.pluginAuthentication |
  CAPABILITY.attributes |
  CAPABILITY.countedAuthentication;

export const NATIVE = "mysql_native_password";
export const SHA2 = "caching_sha2_password";
const SALT_LENGTH = 20;
/** utf8mb4_general_ci */
const CHARACTER_SET = 45;
const AUTOCOMMIT = 2;

export interface Greeting {
  readonly version: string;
  readonly id: number;
  readonly salt: Buffer;
  readonly hasExtendedMetadata: boolean;
}

/** The first words of a server. */
export function greeting({ version, id, salt, hasExtendedMetadata }: Greeting): Buffer {
  const offered = hasExtendedMetadata ? OFFERED : OFFERED | CAPABILITY.mysql;
  const fixed = Buffer.alloc(18);
  fixed.writeUInt16LE(offered & 0xffff, 0);
  fixed[2] = CHARACTER_SET;
  fixed.writeUInt16LE(AUTOCOMMIT, 3);
  fixed.writeUInt16LE((offered >>> 16) & 0xffff, 5);
  fixed[7] = SALT_LENGTH + 1;
  fixed.writeUInt32LE(hasExtendedMetadata ? EXTENDED_METADATA : 0, 14);
  const number = Buffer.alloc(4);
  number.writeUInt32LE(id);
  return Buffer.concat([
    Buffer.of(10),
    Buffer.from(`${version}\0`),
    number,
    salt.subarray(0, 8),
    Buffer.of(0),
    fixed,
    salt.subarray(8, SALT_LENGTH),
    Buffer.from(`\0${NATIVE}\0`),
  ]);
}

/** The first words of a client. */
export interface Login {
  readonly capabilities: number;
  readonly wantsExtendedMetadata: boolean;
  readonly characterSet: number;
  readonly database: string | undefined;
  /** The method by which it proves who it is, and the proof. */
  readonly method: string;
  readonly proof: Buffer;
  readonly attributes: ReadonlyMap<string, string>;
}

export function loginFrom(content: Buffer): Login {
  const reader = new ContentReader(content);
  const capabilities = reader.number(4);
  const has = (flag: number) => (capabilities & flag) !== 0;
  if (!has(CAPABILITY.protocol41)) throw new ProtocolViolation("this client is older than MySQL 4.1");
  if (has(CAPABILITY.encryption)) throw new ProtocolViolation("nothing is encrypted here");
  reader.number(4);
  const characterSet = reader.number(1);
  reader.bytes(19);
  const extended = reader.number(4);
  reader.untilZero();
  const proof = has(CAPABILITY.countedAuthentication)
    ? reader.countedBytes()
    : has(CAPABILITY.secureConnection)
      ? reader.bytes(reader.number(1))
      : reader.untilZero();
  const database = has(CAPABILITY.withDatabase) ? reader.untilZero().toString() : "";
  const method = has(CAPABILITY.pluginAuthentication) ? reader.untilZero().toString() : NATIVE;
  return {
    capabilities,
    wantsExtendedMetadata: !has(CAPABILITY.mysql) && (extended & EXTENDED_METADATA) !== 0,
    characterSet,
    database: database === "" ? undefined : database,
    method,
    proof,
    attributes:
      has(CAPABILITY.attributes) && !reader.isAtEnd ? attributesFrom(reader.countedBytes()) : new Map(),
  };
}

/** What a client that begins anew says: the user is the same for all. */
export function changeFrom(
  content: Buffer,
  capabilities: number,
): { readonly database: string | undefined; readonly method: string; readonly proof: Buffer } {
  const reader = new ContentReader(content, 1);
  reader.untilZero();
  const proof =
    (capabilities & CAPABILITY.secureConnection) !== 0 ? reader.bytes(reader.number(1)) : reader.untilZero();
  const database = reader.untilZero().toString();
  if (!reader.isAtEnd) reader.number(2);
  const isNamed = (capabilities & CAPABILITY.pluginAuthentication) !== 0 && !reader.isAtEnd;
  const method = isNamed ? reader.untilZero().toString() : NATIVE;
  return { database: database === "" ? undefined : database, method, proof };
}

/** Asks a client to prove who it is by another method. */
export function switchRequest(salt: Buffer): Buffer {
  return Buffer.concat([Buffer.of(0xfe), Buffer.from(`${NATIVE}\0`), salt, Buffer.of(0)]);
}

/** Tells a client of MySQL 8 that its proof is enough. */
export const ENOUGH = Buffer.of(1, 3);

/** Whether a proof is one of this method for this password. */
export function proves(method: string, proof: Buffer, password: string, salt: Buffer): boolean {
  const hash = method === SHA2 ? "sha256" : "sha1";
  const digest = (...parts: readonly Buffer[]) => createHash(hash).update(Buffer.concat(parts)).digest();
  const once = digest(Buffer.from(password));
  const mask = method === SHA2 ? digest(digest(once), salt) : digest(salt, digest(once));
  const wanted = Buffer.from(once.map((byte, at) => byte ^ (mask[at] ?? 0)));
  return proof.length === wanted.length && timingSafeEqual(proof, wanted);
}

function attributesFrom(content: Buffer): ReadonlyMap<string, string> {
  const reader = new ContentReader(content);
  const attributes = new Map<string, string>();
  while (!reader.isAtEnd) {
    const name = reader.countedBytes().toString();
    attributes.set(name, reader.countedBytes().toString());
  }
  return attributes;
}
