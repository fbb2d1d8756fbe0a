import { ContentReader, type Packet, ProtocolViolation, STATUS } from "./wire.ts";

/**
 * The shapes of answers. `results`: any number of results, each an outcome or columns with rows. `prepared`:
 * parameters and columns of a prepared statement. `columns`: a list of columns. `rows`: rows of a cursor.
 */
export type AnswerShape = "results" | "prepared" | "columns" | "rows";

/** What a packet of an answer is. */
export type AnswerPart = "ok" | "error" | "end" | "column" | "row" | "count" | "prepared";

const OK = 0x00;
const ERROR = 0xff;
const END = 0xfe;
const LOCAL_FILE = 0xfb;
const LONGEST_END = 9;

/** Follows the packets of one answer, so that its end is known. Pure. */
export class AnswerReader {
  readonly #shape: AnswerShape;
  #state: "head" | "columns" | "rows" | "parameters";
  #left = 0;
  #columns = 0;
  #part: AnswerPart = "row";
  isOver = false;

  constructor(shape: AnswerShape) {
    this.#shape = shape;
    this.#state = shape === "columns" ? "columns" : shape === "rows" ? "rows" : "head";
    this.#left = shape === "columns" ? Number.POSITIVE_INFINITY : 0;
  }

  take({ content, goesOn }: Packet): AnswerPart {
    if (!goesOn) this.#part = this.#next(content);
    return this.#part;
  }

  #next(content: Buffer): AnswerPart {
    const first = content[0];
    if (first === undefined) throw new ProtocolViolation("the server sent an empty packet");
    // Neither a row nor a column begins like this.
    if (first === ERROR) return this.#over("error");
    if (this.#state === "head")
      return this.#shape === "prepared" ? this.#prepared(content) : this.#head(content);
    const isEnd = first === END && content.length < LONGEST_END;
    if (this.#state === "rows") return isEnd ? this.#endOfRows(content) : "row";
    return this.#column(content, isEnd);
  }

  #head(content: Buffer): AnswerPart {
    if (content[0] === OK) {
      const reader = new ContentReader(content, 1);
      reader.counted();
      reader.counted();
      return this.#endOfResult("ok", reader.number(2));
    }
    if (content[0] === LOCAL_FILE) throw new ProtocolViolation("the server asks for a file");
    this.#left = Number(new ContentReader(content).counted());
    this.#state = "columns";
    return "count";
  }

  #prepared(content: Buffer): AnswerPart {
    const reader = new ContentReader(content, 5);
    this.#columns = reader.number(2);
    this.#left = reader.number(2);
    this.#state = "parameters";
    if (this.#left === 0) this.#toColumns();
    return "prepared";
  }

  #column(content: Buffer, isEnd: boolean): AnswerPart {
    if (!isEnd && this.#left > 0) {
      this.#left -= 1;
      return "column";
    }
    if (!isEnd) throw new ProtocolViolation("the server sent something else than the end of columns");
    if (this.#state === "parameters") this.#toColumns();
    else if (this.#shape !== "results") this.isOver = true;
    else if ((content.readUInt16LE(3) & STATUS.cursor) !== 0) this.isOver = true;
    else this.#state = "rows";
    return "end";
  }

  #toColumns(): void {
    this.#left = this.#columns;
    this.#state = "columns";
    if (this.#left === 0) this.isOver = true;
  }

  #endOfRows(content: Buffer): AnswerPart {
    if (this.#shape === "rows") return this.#over("end");
    return this.#endOfResult("end", content.readUInt16LE(3));
  }

  #endOfResult(part: AnswerPart, status: number): AnswerPart {
    if ((status & STATUS.moreResults) === 0) return this.#over(part);
    this.#state = "head";
    return part;
  }

  #over(part: AnswerPart): AnswerPart {
    this.isOver = true;
    return part;
  }
}
