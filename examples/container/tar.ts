import { createHash } from "node:crypto";
import type { Readable } from "node:stream";
import { buffer } from "node:stream/consumers";
import { extract, type Header, pack } from "tar-stream";

/** The first entry of an archive: what was asked for. */
export interface FirstEntry {
  readonly kind: "device" | "directory" | "fifo" | "file" | "symlink";
  readonly mode: number;
  readonly uid: number;
  readonly gid: number;
  readonly size: number;
  /** Equal for entries with the same kind, mode, owner, target and content. */
  readonly digest: string;
}

export interface WrittenEntry {
  /** Relative to the root. */
  readonly path: string;
  readonly bytes: Uint8Array;
  readonly mode: number;
  readonly uid: number;
  readonly gid: number;
}

const KINDS: { readonly [type: string]: FirstEntry["kind"] } = {
  "block-device": "device",
  "character-device": "device",
  directory: "directory",
  fifo: "fifo",
  symlink: "symlink",
};

/** Reads the first entry of an archive, a piece at a time, and ends the stream. */
export async function firstEntry(archive: Readable): Promise<FirstEntry> {
  for await (const entry of entriesOf(archive)) {
    const { type, mode = 0, uid = 0, gid = 0, size = 0, linkname } = entry.header;
    const kind = kindOf(type);
    const hash = createHash("sha256").update(JSON.stringify([kind, mode, uid, gid, linkname ?? ""]));
    if (kind === "file") for await (const bytes of entry) hash.update(bytes as Buffer);
    return { kind, mode, uid, gid, size: kind === "file" ? size : 0, digest: hash.digest("hex") };
  }
  throw new Error("The engine sent an empty archive.");
}

/** The content of the first entry of an archive; undefined if that is no file. */
export async function firstContent(archive: Readable): Promise<Uint8Array | undefined> {
  for await (const entry of entriesOf(archive))
    return kindOf(entry.header.type) === "file" ? await buffer(entry as unknown as Readable) : undefined;
  return undefined;
}

/** The names of what is below the folder of an archive, relative to that folder. */
export async function namesIn(
  archive: Readable,
  isWanted: (kind: FirstEntry["kind"]) => boolean = () => true,
): Promise<readonly string[]> {
  const names: string[] = [];
  for await (const entry of entriesOf(archive)) {
    const [, name] = /^[^/]*\/(.+?)\/?$/.exec(entry.header.name) ?? [];
    if (name !== undefined && isWanted(kindOf(entry.header.type))) names.push(name);
    entry.resume();
  }
  return names;
}

export async function tarOf({ path, bytes, mode, uid, gid }: WrittenEntry): Promise<Uint8Array> {
  const archive = pack();
  archive.entry({ name: path, mode, uid, gid, size: bytes.length, mtime: new Date() }, Buffer.from(bytes));
  archive.finalize();
  return await buffer(archive as unknown as Readable);
}

function entriesOf(archive: Readable) {
  const entries = extract();
  archive.on("error", (thrown) => entries.destroy(thrown));
  archive.pipe(entries as unknown as NodeJS.WritableStream);
  // Whoever leaves the loop early wants no more of it.
  entries.on("close", () => archive.destroy());
  return entries;
}

function kindOf(type: Header["type"]): FirstEntry["kind"] {
  return KINDS[type ?? "file"] ?? "file";
}
