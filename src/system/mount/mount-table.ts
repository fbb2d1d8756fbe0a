import { readFileSync } from "node:fs";
import { pathFromBytes } from "../../core/paths/byte-path.ts";

/** One mount, as listed in /proc/PID/mountinfo. */
export interface MountEntry {
  readonly id: number;
  readonly parent: number;
  /** Its file system, "major:minor". */
  readonly device: string;
  /** The part of its file system that is mounted; "/" is all of it. */
  readonly root: string;
  /** Absolute path of the mount point, in the view of the process. */
  readonly point: string;
  /** Options of the mount: "ro", "nosuid", "relatime" … */
  readonly flags: readonly string[];
  readonly type: string;
  readonly source: string;
  /** Options of the file system. */
  readonly options: readonly string[];
}

/** All mounts that a process sees, and which of them a path can reach. There may be thousands. */
export class MountTable {
  readonly #entries: readonly MountEntry[];
  readonly #root: MountEntry | undefined;
  /** Child mounts of each mount, by mount point; where several share one, the most recent. */
  readonly #children = new Map<number, Map<string, MountEntry>>();

  constructor(entries: readonly MountEntry[]) {
    this.#entries = entries;
    const known = new Set(entries.map(({ id }) => id));
    this.#root = entries.find(
      ({ point, parent, id }) => point === "/" && (!known.has(parent) || parent === id),
    );
    for (const entry of entries) {
      if (entry.id === entry.parent) continue;
      const siblings = this.#children.get(entry.parent);
      if (siblings === undefined) this.#children.set(entry.parent, new Map([[entry.point, entry]]));
      else siblings.set(entry.point, entry);
    }
  }

  /** The mounts of this process. */
  static read(): MountTable {
    return new MountTable(parseMounts(readFileSync("/proc/self/mountinfo", "latin1")));
  }

  /** The mounts that no other one hides. */
  visible(): readonly MountEntry[] {
    return this.#entries.filter((entry) => this.at(entry.point) === entry);
  }

  /** The mount of an absolute path without links. */
  at(path: string): MountEntry | undefined {
    const points = pointsOnTheWay(path);
    let at = this.#root;
    for (let next = at; next !== undefined; next = this.#nextOnTheWay(next, points)) at = next;
    return at;
  }

  /** The first child mount on the path. */
  #nextOnTheWay({ id }: MountEntry, points: readonly string[]): MountEntry | undefined {
    const children = this.#children.get(id);
    const first = children && points.find((point) => children.has(point));
    return first === undefined ? undefined : children?.get(first);
  }
}

/** The mount points of this process below this absolute path, including those that another mount hides. */
export function mountsBelow(path: string): string[] {
  const prefix = path === "/" ? "/" : `${path}/`;
  return parseMounts(readFileSync("/proc/self/mountinfo", "latin1"))
    .map(({ point }) => point)
    .filter((point) => point.startsWith(prefix));
}

/** The prefixes of a path that may be mount points: `/`, `/a` and `/a/b` for `/a/b`. */
function pointsOnTheWay(path: string): readonly string[] {
  const points = ["/"];
  for (let slash = path.indexOf("/", 1); slash > 0; slash = path.indexOf("/", slash + 1))
    points.push(path.slice(0, slash));
  if (path !== "/") points.push(path);
  return points;
}

/** Reads the text of a mountinfo, each byte as one character. */
export function parseMounts(text: string): MountEntry[] {
  return text.split("\n").filter(Boolean).map(parseLine);
}

/** `ID PARENT MAJOR:MINOR ROOT POINT FLAGS [OPTIONAL…] - TYPE SOURCE OPTIONS` */
function parseLine(line: string): MountEntry {
  const [left = "", right = ""] = line.split(" - ", 2);
  const [id, parent, device = "", root = "", point = "", flags = ""] = left.split(" ");
  const [type = "", source = "", options = ""] = right.split(" ");
  return {
    id: Number(id),
    parent: Number(parent),
    device,
    root: unescapePath(root),
    point: unescapePath(point),
    flags: flags.split(","),
    type,
    source: unescapePath(source),
    options: options.split(","),
  };
}

/**
 * The path in a field of a file in /proc, read as Latin-1. Blanks, line ends and backslashes are octal in it.
 */
export function unescapePath(field: string): string {
  if (/^[\x20-\x5b\x5d-\x7e]*$/.test(field)) return field;
  const bytes = field.replace(/\\([0-7]{3})/g, (_, octal: string) =>
    String.fromCharCode(Number.parseInt(octal, 8)),
  );
  return pathFromBytes(Buffer.from(bytes, "latin1"));
}
