import { createHash } from "node:crypto";

/** A larger file is not shown in a patch. */
export const LARGEST_BINARY = 16 * 1024 * 1024;

const DIGITS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz!#$%&()*+-;<=>?@^_`{|}~";
const LINE_BYTES = 52;
/** Lines of up to so many bytes have an upper-case letter for their length. */
const UPPER_CASE = 26;
const NOTHING = Buffer.alloc(0);
const NO_OBJECT = "0".repeat(40);

/**
 * A change of a file that is not text, as git writes it (`git diff --binary`): the names that git gives both
 * contents, then the new content and the old one, each compressed and in lines of base 85. A line begins with
 * a letter for the number of its bytes.
 */
export function binaryPatch(before: Uint8Array | undefined, after: Uint8Array | undefined): Buffer {
  const names = [before, after].map((content) => (content === undefined ? NO_OBJECT : objectName(content)));
  const contents = [after ?? NOTHING, before ?? NOTHING].map(literal);
  return Buffer.from(`index ${names.join("..")}\nGIT binary patch\n${contents.join("")}`, "latin1");
}

function objectName(content: Uint8Array): string {
  return createHash("sha1").update(`blob ${content.length}\0`).update(content).digest("hex");
}

function literal(content: Uint8Array): string {
  // Loaded with the first such file: nearly every command would load it for nothing.
  const packed = process.getBuiltinModule("node:zlib").deflateSync(content);
  const lines: string[] = [];
  for (let at = 0; at < packed.length; at += LINE_BYTES)
    lines.push(encodedLine(packed.subarray(at, at + LINE_BYTES)));
  return `literal ${content.length}\n${lines.join("")}\n`;
}

function encodedLine(bytes: Buffer): string {
  const { length } = bytes;
  const start = length <= UPPER_CASE ? 0x40 + length : 0x60 + length - UPPER_CASE;
  const padded = Buffer.alloc(Math.ceil(length / 4) * 4);
  bytes.copy(padded);
  let text = String.fromCharCode(start);
  for (let at = 0; at < padded.length; at += 4) text += digitsOf(padded.readUInt32BE(at));
  return `${text}\n`;
}

function digitsOf(word: number): string {
  let text = "";
  for (let rest = word, count = 0; count < 5; count += 1) {
    text = `${DIGITS[rest % DIGITS.length]}${text}`;
    rest = Math.floor(rest / DIGITS.length);
  }
  return text;
}
