import { bytesFromPath } from "../../core/paths/byte-path.ts";

const NAMED: { readonly [byte: number]: string } = {
  7: "\\a",
  8: "\\b",
  9: "\\t",
  10: "\\n",
  11: "\\v",
  12: "\\f",
  13: "\\r",
  34: '\\"',
  92: "\\\\",
};

/**
 * A path as git writes it in a patch, one character for each byte (Latin-1). A path with control characters,
 * quotes, backslashes or bytes that are not UTF-8 is quoted, and those are escaped; other characters stay
 * readable (git's `core.quotePath=false`).
 */
export function gitPath(path: string): string {
  const escaped = path.replace(
    /[\u0000-\u001f\u007f"\\]|[\udc80-\udcff](?<![\ud800-\udbff].)/g,
    (character) => {
      const [byte = 0] = bytesFromPath(character);
      return NAMED[byte] ?? `\\${byte.toString(8).padStart(3, "0")}`;
    },
  );
  const bytes = Buffer.from(escaped, "utf8").toString("latin1");
  return escaped === path ? bytes : `"${bytes}"`;
}
