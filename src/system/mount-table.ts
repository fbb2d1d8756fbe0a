import { readFileSync } from "node:fs";
import { isAtOrBelow, pathFromBytes } from "../core/byte-path.ts";

/** One mount, as /proc/PID/mountinfo tells it. */
export interface MountEntry {
  readonly id: number;
  readonly parent: number;
  /** Absolute path of the mount point, in the view of the process. */
  readonly point: string;
  /** What holds for this mount: "ro", "nosuid", "relatime" … */
  readonly flags: readonly string[];
  readonly type: string;
  readonly source: string;
  /** What holds for its file system. */
  readonly options: readonly string[];
}

/** Everything that is mounted in the view of a process, and which of it can be reached by a path. */
export class MountTable {
  readonly #children = new Map<number, MountEntry[]>();
  readonly #entries: readonly MountEntry[];

  constructor(entries: readonly MountEntry[]) {
    this.#entries = entries;
    for (const entry of entries) {
      const siblings = this.#children.get(entry.parent);
      if (siblings === undefined) this.#children.set(entry.parent, [entry]);
      else siblings.push(entry);
    }
  }

  /** The mounts of this process. */
  static read(): MountTable {
    return MountTable.parse(readFileSync("/proc/self/mountinfo", "latin1"));
  }

  /** Reads the text of a mountinfo, each byte as one character. */
  static parse(text: string): MountTable {
    return new MountTable(text.split("\n").filter(Boolean).map(parseLine));
  }

  /** The mounts that no other one hides. */
  visible(): readonly MountEntry[] {
    return this.#entries.filter((entry) => this.at(entry.point) === entry);
  }

  /** The mount on which something with this absolute path, free of links, is. */
  at(path: string): MountEntry | undefined {
    const known = new Set(this.#entries.map(({ id }) => id));
    let at = this.#entries.find(({ point, parent, id }) => point === "/" && (!known.has(parent) || parent === id));
    for (let next = at; next !== undefined; next = this.#nextOnTheWay(next, path)) at = next;
    return at;
  }

  /** Of what is mounted directly on a mount, that which is met first on the way to a path; of several in one place, the last one. */
  #nextOnTheWay(from: MountEntry, path: string): MountEntry | undefined {
    let first: MountEntry | undefined;
    for (const child of this.#children.get(from.id) ?? []) {
      if (child === from || !isOnTheWay(child.point, path)) continue;
      if (first === undefined || child.point.length <= first.point.length) first = child;
    }
    return first;
  }
}

function isOnTheWay(point: string, path: string): boolean {
  return point === "/" || isAtOrBelow(path, point);
}

/** `ID PARENT MAJOR:MINOR ROOT POINT FLAGS [OPTIONAL…] - TYPE SOURCE OPTIONS` */
function parseLine(line: string): MountEntry {
  const [left = "", right = ""] = line.split(" - ", 2);
  const [id, parent, , , point = "", flags = ""] = left.split(" ");
  const [type = "", source = "", options = ""] = right.split(" ");
  return {
    id: Number(id),
    parent: Number(parent),
    point: unescapeField(point),
    flags: flags.split(","),
    type,
    source: unescapeField(source),
    options: options.split(","),
  };
}

/** Blanks, line ends and backslashes stand as octal. */
function unescapeField(field: string): string {
  const bytes = field.replace(/\\([0-7]{3})/g, (_, octal: string) => String.fromCharCode(Number.parseInt(octal, 8)));
  return pathFromBytes(Buffer.from(bytes, "latin1"));
}
