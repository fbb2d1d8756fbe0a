/**
 * Takes `\udcHH`, as JSON shows a byte that is not UTF-8, back as that byte: a program that parsed our output
 * can't put a lone surrogate into an argument, but it can put these six characters there. A backslash before
 * it is escaped by another one; elsewhere backslashes are what they are. So every name can be written, and
 * only one with these very characters in it needs care.
 */
export function unescapePath(text: string): string {
  return text.replace(/(\\+)udc([89a-f][0-9a-f])/gi, (_, backslashes: string, byte: string) => {
    const kept = backslashes.slice(0, backslashes.length >> 1);
    const isEscape = backslashes.length % 2 === 1;
    return isEscape ? kept + String.fromCharCode(0xdc00 + Number.parseInt(byte, 16)) : `${kept}udc${byte}`;
  });
}
