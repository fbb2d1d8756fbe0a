import { UsageError } from "../../../core/errors/errors.ts";
import { displayPath } from "../../../core/paths/byte-path.ts";

/** The key that leaves a detached command, in every way in which terminals send it; none has no way. */
export type DetachKey = readonly Buffer[];

const KEY = /^ctrl-([a-z[\\\]^_])$/i;

export function parseDetachKey(text: string): DetachKey {
  if (text === "none") return [];
  const [, key] = KEY.exec(text.toLowerCase()) ?? [];
  if (key === undefined)
    throw new UsageError(`'${displayPath(text)}' is no key to leave with.`, {
      hint: "Write --detach-key 'ctrl-\\', 'ctrl-]' or 'ctrl-a', or none.",
    });
  const code = key.charCodeAt(0);
  // Alone, and as programs can ask terminals to send it: by the protocol of kitty, and that of xterm.
  return [
    String.fromCharCode(key.toUpperCase().charCodeAt(0) & 31),
    `\x1b[${code};5u`,
    `\x1b[27;5;${code}~`,
  ].map((sent) => Buffer.from(sent));
}

/** What was typed before the key; undefined if it was not typed. */
export function typedBefore(keys: Buffer, leaving: DetachKey): Buffer | undefined {
  const places = leaving.map((sent) => keys.indexOf(sent)).filter((at) => at >= 0);
  return places.length === 0 ? undefined : keys.subarray(0, Math.min(...places));
}
