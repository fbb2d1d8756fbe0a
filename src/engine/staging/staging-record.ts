import type { Identity, Time } from "../../system/calls/facts.ts";
import type { Folder } from "../../system/calls/folder.ts";
import { parsed, readWhole } from "../../system/data/whole-file.ts";
import { failpoint } from "../../system/failpoints.ts";
import { type Line, LineFile, LineWriter } from "../manifest/line-file.ts";
import type { MarkedPath } from "./layer-traces.ts";

/**
 * What prepare is about to take out of the sandbox, and where it belongs. It is on disk before anything is
 * taken out: nothing else knows. Format of the file `staging` (line-file.ts), a line for each:
 *   ["m", slot, path, [ino, btime], mode]   an entry that moves; the mode only of a read-only folder, which
 *                                           is opened up for its move
 *   ["x", path, marks, mode]                of a layer: the marks on an entry or on something in it
 *                                           (layer-traces.ts)
 *   ["f", path, mtime, atime]               a folder that entries are taken out of
 *   ["end"]                                 it is complete
 */
export interface MovedEntry {
  readonly slot: number;
  readonly path: string;
  readonly is?: Identity;
  readonly mode?: number;
}

export interface FolderTimes {
  readonly path: string;
  readonly mtime: Time;
  readonly atime: Time;
}

/** The record of an earlier staging. */
export interface StagingRecord {
  moved(): Iterable<MovedEntry>;
  marked(): Iterable<MarkedPath>;
  folders(): Iterable<FolderTimes>;
}

const WRITE = failpoint("stage.record");
const FLUSH = failpoint("record.flush");
const FILE = "staging";
const END: Line = ["end"];

export class StagingRecordWriter implements Disposable {
  readonly #lines: LineWriter;

  constructor(landing: Folder) {
    this.#lines = new LineWriter(WRITE, landing, FILE);
  }

  addMoved({ slot, path, is, mode }: MovedEntry): void {
    this.#lines.add(["m", slot, path, is === undefined ? null : [is.ino, ...is.btime], mode ?? null]);
  }

  addMarked({ path, marks, mode }: MarkedPath): void {
    this.#lines.add(["x", path, marks, mode ?? null]);
  }

  addFolder({ path, mtime, atime }: FolderTimes): void {
    this.#lines.add(["f", path, mtime, atime]);
  }

  endFlushed(): void {
    this.#lines.add(END);
    this.#lines.end();
    this.#lines.flush(FLUSH);
  }

  [Symbol.dispose](): void {
    this.#lines[Symbol.dispose]();
  }
}

/**
 * Reads the record; it is empty if nothing was taken out. Returns undefined if a power cut left the record
 * empty or truncated.
 */
export function readStagingRecord(landing: Folder): StagingRecord | undefined {
  if (landing.facts(FILE)?.kind !== "file") return { moved: () => [], marked: () => [], folders: () => [] };
  const file = new LineFile(landing, FILE);
  return file.endsWith(END) ? new LinesRecord(file) : earlierRecord(landing);
}

class LinesRecord implements StagingRecord {
  readonly #file: LineFile;

  constructor(file: LineFile) {
    this.#file = file;
  }

  *moved(): Generator<MovedEntry> {
    for (const line of this.#file.lines("m")) {
      const [, slot, path, is, mode] = line as [
        string,
        number,
        string,
        [number, number, number] | null,
        number | null,
      ];
      yield {
        slot,
        path,
        ...(is !== null && { is: { ino: is[0], btime: [is[1], is[2]] } }),
        ...(mode !== null && { mode }),
      };
    }
  }

  *marked(): Generator<MarkedPath> {
    for (const line of this.#file.lines("x")) {
      const [, path, marks, mode] = line as [string, string, MarkedPath["marks"], number | null];
      yield { path, marks, ...(mode !== null && { mode }) };
    }
  }

  *folders(): Generator<FolderTimes> {
    for (const line of this.#file.lines("f")) {
      const [, path, mtime, atime] = line as [string, string, Time, Time];
      yield { path, mtime, atime };
    }
  }
}

/** Drydock 0.1.0 wrote the record as one text. */
function earlierRecord(landing: Folder): StagingRecord | undefined {
  const record = parsed<{
    readonly moved?: readonly MovedEntry[];
    readonly marked?: readonly MarkedPath[];
    readonly folders?: readonly FolderTimes[];
  }>(readWhole(landing, FILE) ?? Buffer.alloc(0));
  if (record?.moved === undefined) return undefined;
  return {
    moved: () => record.moved ?? [],
    marked: () => record.marked ?? [],
    folders: () => record.folders ?? [],
  };
}
