const BATCH = 1_000;

/**
 * A list of a JSON document that takes one item after the other, and stores the items of a large list as
 * text.
 */
export class JsonList {
  readonly #texts: string[] = [];
  #recent: unknown[] = [];

  add(item: unknown): void {
    this.#recent.push(item);
    if (this.#recent.length <= BATCH) return;
    this.#texts.push(itemsText(this.#recent));
    this.#recent = [];
  }

  /** Whether some items are stored as text, so that the list can only be written in pieces. */
  get isLarge(): boolean {
    return this.#texts.length > 0;
  }

  /** The items of a list that is not large. */
  toJSON(): readonly unknown[] {
    return this.#recent;
  }

  *pieces(): Generator<string> {
    const last = this.#recent.length === 0 ? [] : [itemsText(this.#recent)];
    yield* separated([...this.#texts, ...last]);
  }
}

/**
 * A value as JSON, in pieces: a diff of a million changes does not fit into one string. Only lists directly
 * in the value are split. Bytes that are not UTF-8 come out as `\udcHH`, because JSON.stringify escapes lone
 * surrogates.
 */
export function* jsonDocument(value: object, indent: 0 | 2): Generator<string> {
  yield* Object.values(value).some(isLarge) ? inPieces(value) : [JSON.stringify(value, undefined, indent)];
  yield "\n";
}

function isLarge(member: unknown): boolean {
  return member instanceof JsonList ? member.isLarge : Array.isArray(member) && member.length > BATCH;
}

function* inPieces(value: object): Generator<string> {
  let separator = "{";
  for (const [key, member] of Object.entries(value)) {
    if (member === undefined) continue;
    yield `${separator}${JSON.stringify(key)}:`;
    separator = ",";
    if (member instanceof JsonList) yield* member.pieces();
    else if (Array.isArray(member)) yield* separated(batches(member));
    else yield JSON.stringify(member);
  }
  yield "}";
}

function* batches(list: readonly unknown[]): Generator<string> {
  for (let from = 0; from < list.length; from += BATCH) yield itemsText(list.slice(from, from + BATCH));
}

/** The items of a list without its brackets. */
function itemsText(items: readonly unknown[]): string {
  return JSON.stringify(items).slice(1, -1);
}

function* separated(texts: Iterable<string>): Generator<string> {
  yield "[";
  let separator = "";
  for (const text of texts) {
    yield `${separator}${text}`;
    separator = ",";
  }
  yield "]";
}
