import { createHash } from "node:crypto";
import { existsSync, readFileSync, renameSync, rmdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { type SandboxRef, UsageError } from "drydock-sandbox/strategy";
import type { KeyState } from "./key-history.ts";
import { copyFolder, makeFolder, namesIn, pin, readJson, remove, replaceFile } from "./local-files.ts";

/** What is known of a sandbox everywhere: where its folder is, and the bucket. */
export type BucketRef = SandboxRef<{ readonly folder: string; readonly location: string }>;

/**
 * A sandbox on this machine: a folder in the state directory. HASH stands for the SHA-256 of an object's
 * path.
 *
 *   base.json            what the bucket held when the sandbox was made, by path; says that the sandbox is
 *                        whole
 *   work/HASH.path       the path of an object that was written
 *   work/HASH            its content; written last, replaced as a whole, and never changed, so that it can be
 *                        linked
 *   saved/ID/            a checkpoint: what was in work/
 *   landings/ID/HASH.json  an upload that transaction ID began (landing-record.ts)
 *   landings/ID/HASH     the content that it lands
 *   kept/ID/             a landing that can still be undone, of a sandbox that is gone
 */
export class SandboxFolder {
  readonly path: string;
  readonly #failpoint: (name: string) => void;

  constructor(ref: BucketRef, failpoint: (name: string) => void) {
    this.path = ref.metadata.folder;
    this.#failpoint = failpoint;
  }

  get isWhole(): boolean {
    return existsSync(this.#at("base.json"));
  }

  /** What the bucket held, by path; keys that were deleted are among it. */
  get base(): { readonly [path: string]: KeyState } {
    return readJson(this.#at("base.json"));
  }

  saveBase(base: { readonly [path: string]: KeyState }): void {
    this.#failpoint("s3.save-base");
    replaceFile(this.#at("base.json"), JSON.stringify(base));
  }

  /** Makes the folder, without what a create that was cut off has left. */
  make(): void {
    this.#failpoint("s3.make-folder");
    for (const name of ["work", "saved", "landings"]) remove(this.#at(name));
    for (const folder of [this.path, this.#at("work")]) makeFolder(folder);
  }

  /** The paths of what was written. */
  written(): string[] {
    return namesIn(this.#at("work"))
      .filter(
        (name) => name.endsWith(".path") && existsSync(this.#at("work", name.slice(0, -".path".length))),
      )
      .map((name) => readFileSync(this.#at("work", name), "utf8"))
      .sort();
  }

  /** The file with the content that was written there; undefined if nothing was. */
  writtenFile(path: string): string | undefined {
    const file = this.#at("work", hashOf(path));
    return existsSync(file) ? file : undefined;
  }

  write(path: string, bytes: Uint8Array): void {
    this.#failpoint("s3.write");
    if (!existsSync(this.#at("work"))) makeFolder(this.#at("work"));
    const name = this.#at("work", `${hashOf(path)}.path`);
    if (!existsSync(name)) replaceFile(name, path);
    replaceFile(this.#at("work", hashOf(path)), bytes);
  }

  forgetWork(): void {
    this.#failpoint("s3.forget-work");
    remove(this.#at("work"));
  }

  /** Returns how much was saved. */
  save(checkpointId: string): number {
    const saved = this.#at("saved", checkpointId);
    makeFolder(this.#at("work"));
    makeFolder(this.#at("saved"));
    this.#failpoint("s3.checkpoint");
    copyFolder(this.#at("work"), `${saved}.new`);
    remove(saved);
    renameSync(`${saved}.new`, saved);
    return namesIn(saved).reduce((sum, name) => sum + statSync(join(saved, name)).size, 0);
  }

  restore(checkpointId: string): void {
    const saved = this.#at("saved", checkpointId);
    if (!existsSync(saved))
      throw new UsageError(`There is no checkpoint ${checkpointId}.`, {
        hint: "List them.",
        code: "UNKNOWN_CHECKPOINT",
      });
    copyFolder(saved, this.#at("work.new"));
    this.#failpoint("s3.restore");
    remove(this.#at("work"));
    this.#failpoint("s3.restore-rename");
    renameSync(this.#at("work.new"), this.#at("work"));
  }

  discard(checkpointId: string): void {
    for (const end of ["", ".new"]) remove(this.#at("saved", `${checkpointId}${end}`));
  }

  /** Links what was written there to a landing, so that what is prepared stays what it is. */
  pin(path: string, landingId: string): string {
    const written = this.writtenFile(path);
    if (written === undefined) throw new Error(`Nothing was written at ${path}`);
    const file = this.contentFile(landingId, path);
    this.#failpoint("s3.pin");
    for (const folder of [this.#at("landings"), this.#at("landings", landingId)]) makeFolder(folder);
    pin(written, file);
    return file;
  }

  contentFile(landingId: string, path: string): string {
    return join(this.landing(landingId), hashOf(path));
  }

  recordFile(landingId: string, path: string): string {
    return join(this.landing(landingId), `${hashOf(path)}.json`);
  }

  /** Of this sandbox, not of those of the same name before it. */
  landingIds(): string[] {
    return namesIn(this.#at("landings"));
  }

  landing(id: string): string {
    const kept = this.#at("kept", id);
    return existsSync(kept) ? kept : this.#at("landings", id);
  }

  forgetLanding(id: string): void {
    this.#failpoint("s3.forget-landing");
    for (const folder of ["landings", "kept"]) remove(this.#at(folder, id));
  }

  /** Lets a landing outlive the sandbox. */
  keepLanding(id: string): void {
    this.#failpoint("s3.keep-landing");
    makeFolder(this.#at("kept"));
    renameSync(this.#at("landings", id), this.#at("kept", id));
  }

  /**
   * Removes everything but landings that are kept. First what says that it is whole: a create after a crash
   * in here starts over.
   */
  remove(): void {
    this.#failpoint("s3.remove");
    for (const name of ["base.json", "base.json.new"]) remove(this.#at(name));
    this.#failpoint("s3.remove-work");
    for (const name of ["work", "work.new", "saved", "landings"]) remove(this.#at(name));
    this.removeIfEmpty();
  }

  /** Removes the folder itself if nothing is kept there. */
  removeIfEmpty(): void {
    for (const folder of [this.#at("kept"), this.path])
      if (existsSync(folder) && namesIn(folder).length === 0) rmdirSync(folder);
  }

  #at(...names: readonly string[]): string {
    return join(this.path, ...names);
  }
}

function hashOf(path: string): string {
  return createHash("sha256").update(path).digest("hex");
}
