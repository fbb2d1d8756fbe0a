/**
 * Turns `\udcHH`, the form in which JSON shows a byte that is not UTF-8, back into that byte: a program that
 * parsed our output can't put a lone surrogate into an argument, but it can put these six characters there. A
 * backslash before `\udcHH` escapes it; other backslashes stand for themselves. So every name can be written,
 * and only a name with these very characters needs care.
 */
export function unescapePath(text: string): string {
  return text.replace(/(\\+)udc([89a-f][0-9a-f])/gi, (_, backslashes: string, byte: string) => {
    const kept = backslashes.slice(0, backslashes.length >> 1);
    const isEscape = backslashes.length % 2 === 1;
    return isEscape ? kept + String.fromCharCode(0xdc00 + Number.parseInt(byte, 16)) : `${kept}udc${byte}`;
  });
}

/** A path as `unescapePath` reads it, for an argument that has no lone surrogate. */
export function escapePath(path: string): string {
  return path.replace(
    /(\\*)([\udc80-\udcff])|(\\+)(?=udc[89a-f][0-9a-f])/gi,
    (_, before: string | undefined, byte: string | undefined, backslashes = "") =>
      byte === undefined
        ? backslashes.repeat(2)
        : `${before?.repeat(2)}\\udc${(byte.charCodeAt(0) - 0xdc00).toString(16)}`,
  );
}
