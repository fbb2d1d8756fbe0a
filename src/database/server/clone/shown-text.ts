import type { TableColumn } from "./clone-changes.ts";

/** What Node calls the character sets of MySQL and MariaDB that are not UTF-8. */
const DECODERS: { readonly [charset: string]: string } = {
  latin1: "windows-1252",
  latin2: "iso-8859-2",
  latin5: "windows-1254",
  latin7: "iso-8859-13",
  cp1250: "windows-1250",
  cp1251: "windows-1251",
  cp1256: "windows-1256",
  cp1257: "windows-1257",
  cp866: "ibm866",
  greek: "iso-8859-7",
  hebrew: "iso-8859-8",
  koi8r: "koi8-r",
  koi8u: "koi8-u",
  tis620: "windows-874",
  ucs2: "utf-16be",
  utf16: "utf-16be",
  utf16le: "utf-16le",
  gbk: "gbk",
  gb2312: "gbk",
  big5: "big5",
  sjis: "shift_jis",
  cp932: "shift_jis",
  ujis: "euc-jp",
  eucjpms: "euc-jp",
  euckr: "euc-kr",
};

/** A value as people read it; undefined if it is bytes, which are no text. */
export function shownText({ kind, charset }: TableColumn, value: string): string | undefined {
  if (kind !== "bytes") return value;
  const label = charset === undefined ? undefined : DECODERS[charset];
  if (label === undefined) return undefined;
  try {
    return new TextDecoder(label, { fatal: true, ignoreBOM: true }).decode(Buffer.from(value, "hex"));
  } catch {
    // These bytes are no text in that character set.
    return undefined;
  }
}
