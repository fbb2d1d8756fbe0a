/**
 * The most characters of one text in a result. Clients refuse results above some 25,000 tokens, and a model
 * that gets one loses its turn.
 */
export const MOST_CHARACTERS = 20_000;

/** A text that fits into a result: its beginning, its end, and between them a line that says what is cut. */
export function capped(text: string, most = MOST_CHARACTERS): { text: string; truncated: boolean } {
  if (text.length <= most) return { text, truncated: false };
  const half = Math.floor(most / 2);
  const [head, tail] = [text.slice(0, half).toWellFormed(), text.slice(-half).toWellFormed()];
  const omitted = text.length - 2 * half;
  return { text: `${head}\n[… ${omitted} characters left out …]\n${tail}`, truncated: true };
}
