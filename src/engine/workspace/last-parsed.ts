import { identityKey } from "../../system/calls/facts.ts";
import type { Folder } from "../../system/calls/folder.ts";
import { readWhole } from "../../system/data/whole-file.ts";

/**
 * Keeps the last parsed file of ours until another one replaces it. A patch asks for the base of one file
 * after the other, each in a call of its own; parsing the whole file for each would cost quadratic time.
 */
export class LastParsed<Parsed> {
  readonly #parse: (bytes: Buffer, label: string) => Parsed;
  #version: string | undefined;
  #parsed: Parsed | undefined;

  constructor(parse: (bytes: Buffer, label: string) => Parsed) {
    this.#parse = parse;
  }

  /** Returns undefined if the file does not exist. The result is shared: callers must not change it. */
  of(folder: Folder, name: string): Parsed | undefined {
    const version = versionOf(folder, name);
    if (version !== undefined && version === this.#version) return this.#parsed;
    const bytes = readWhole(folder, name);
    this.#parsed = bytes === undefined ? undefined : this.#parse(bytes, folder.label(name));
    // Another process may have replaced the file meanwhile.
    this.#version = version === versionOf(folder, name) ? version : undefined;
    return this.#parsed;
  }
}

/** Such a file is never overwritten, only replaced by another one. */
function versionOf(folder: Folder, name: string): string | undefined {
  const facts = folder.facts(name);
  return (
    facts &&
    `${folder.label(name)} ${facts.device} ${identityKey(facts)} ${facts.ctime.join(".")} ${facts.size}`
  );
}
