import type { DatabaseValue } from "../../core/values/query.ts";
import { plainInteger } from "../common/row-json.ts";

/** Types of PostgreSQL whose text is a number, or bytes. All others stay text, as the server writes it. */
const OID = { bool: 16, bytea: 17, int8: 20, int2: 21, int4: 23, oid: 26, float4: 700, float8: 701 } as const;

/** Converts the text that PostgreSQL sends. Nothing is lost: numerics, dates and JSON stay text. */
export function postgresValue(text: string | null, type: number): DatabaseValue {
  if (text === null) return null;
  switch (type) {
    case OID.bool:
      return text === "t" ? "true" : "false";
    case OID.bytea:
      return text.startsWith("\\x") ? Buffer.from(text.slice(2), "hex") : text;
    case OID.int8:
    case OID.int2:
    case OID.int4:
    case OID.oid:
      return plainInteger(BigInt(text));
    case OID.float4:
    case OID.float8:
      return text === "NaN" ? text : Number(text);
    default:
      return text;
  }
}
