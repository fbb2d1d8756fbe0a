const BATCH = 1_000;

/**
 * A value as JSON, in pieces: a diff of a million changes is more than one string may hold. Only lists directly in the value are split.
 * Bytes that are not UTF-8 come out as `\udcHH`, because JSON.stringify escapes lone surrogates.
 */
export function* jsonDocument(value: object, indent: 0 | 2): Generator<string> {
  const lists = Object.values(value).some((member) => Array.isArray(member) && member.length > BATCH);
  yield* lists ? inPieces(value) : [JSON.stringify(value, undefined, indent)];
  yield "\n";
}

function* inPieces(value: object): Generator<string> {
  let separator = "{";
  for (const [key, member] of Object.entries(value)) {
    if (member === undefined) continue;
    yield `${separator}${JSON.stringify(key)}:`;
    separator = ",";
    if (Array.isArray(member)) yield* listInPieces(member);
    else yield JSON.stringify(member);
  }
  yield "}";
}

function* listInPieces(list: readonly unknown[]): Generator<string> {
  yield "[";
  for (let from = 0; from < list.length; from += BATCH) {
    const batch = JSON.stringify(list.slice(from, from + BATCH)).slice(1, -1);
    yield from === 0 ? batch : `,${batch}`;
  }
  yield "]";
}
