import { createHash } from "node:crypto";
import { StateError } from "../../core/errors/errors.ts";
import type { Folder } from "../../system/calls/folder.ts";
import { parsed, readWhole, writeWhole } from "../../system/data/whole-file.ts";
import { failpoint } from "../../system/failpoints.ts";
import type { Manifest, ManifestEntry, ManifestHeader } from "./manifest.ts";
import { EntriesInMemory, type ManifestEntries, StoredEntries } from "./manifest-entries.ts";

/** A manifest whose entries stay on the disk. */
export interface StoredManifest extends ManifestHeader {
  readonly entries: ManifestEntries;
}

const WRITE = failpoint("stage.manifest");
export const MANIFEST = "manifest";
export const ENTRIES = "entries";

/** Writes all but the entries, which are written; the digest for the journal. */
export function writeManifest(
  landing: Folder,
  header: Omit<ManifestHeader, "version">,
  entriesDigest: string,
): string {
  const bytes = Buffer.from(JSON.stringify({ version: 2, ...header, entries: entriesDigest }));
  writeWhole(WRITE, landing, MANIFEST, bytes);
  return digestOf(bytes);
}

/**
 * The manifest of a landing; undefined if there is none yet. Throws `StateError` if it, or its entries, are
 * not what was prepared.
 */
export function readManifest(landing: Folder, digest?: string): StoredManifest | undefined {
  const bytes = readWhole(landing, MANIFEST);
  if (bytes === undefined) return undefined;
  const manifest = parsed<(ManifestHeader & { readonly entries: string }) | Manifest>(bytes);
  if (manifest === undefined || (digest !== undefined && digestOf(bytes) !== digest))
    throw notAsPrepared(landing.label(MANIFEST));
  if (typeof manifest.entries !== "string") return inMemory(manifest as Manifest);
  const { entries, ...header } = manifest;
  const stored = landing.facts(ENTRIES)?.kind === "file" ? new StoredEntries(landing, ENTRIES) : undefined;
  if (stored === undefined || stored.digest() !== entries) throw notAsPrepared(landing.label(ENTRIES));
  return { ...header, entries: stored };
}

function inMemory({ entries, folderTimes, ...header }: Manifest): StoredManifest {
  return { ...header, entries: new EntriesInMemory({ entries, folderTimes }) };
}

/** The same, and an error if there is none. */
export function needManifest(landing: Folder, digest?: string): StoredManifest {
  const manifest = readManifest(landing, digest);
  if (manifest === undefined) throw damagedRecord(landing.path);
  return manifest;
}

/** What is thrown where the record of a landing has gone. */
export function damagedRecord(path: string): StateError {
  return new StateError(`The record of this landing is missing or incomplete: ${path}`, {
    hint: "Nothing is taken back or finished from an incomplete record.",
  });
}

/** Takes all of a manifest into memory: for parts, which are as large as what was chosen. */
export function wholeManifest({ entries, ...header }: StoredManifest): Manifest {
  const whole: ManifestEntry[] = [];
  for (const { slot, entry } of entries.all()) whole[slot] = entry;
  return { ...header, entries: whole, folderTimes: [...entries.folderTimes()] };
}

function notAsPrepared(label: string): StateError {
  return new StateError(`${label} is not what was prepared.`, {
    hint: "Its content does not match the journal. Nothing is guessed: restore the file, or recover the plan by your word.",
  });
}

function digestOf(bytes: Uint8Array): string {
  return createHash("sha256").update(bytes).digest("hex");
}
