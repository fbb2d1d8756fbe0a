import { identityKey } from "../../system/calls/facts.ts";
import type { Folder } from "../../system/calls/folder.ts";
import { readWhole } from "../../system/data/whole-file.ts";

/**
 * The last file of ours that was parsed, kept as long as nothing else takes its place. A patch asks for the
 * base of one file after the other, each in a call of its own; parsing all of it each time would make that
 * quadratic.
 */
export class LastParsed<Parsed> {
  readonly #parse: (bytes: Buffer, label: string) => Parsed;
  #version: string | undefined;
  #parsed: Parsed | undefined;

  constructor(parse: (bytes: Buffer, label: string) => Parsed) {
    this.#parse = parse;
  }

  /** Returns undefined if the file is not there. What is returned is shared: nobody may change it. */
  of(folder: Folder, name: string): Parsed | undefined {
    const version = versionOf(folder, name);
    if (version !== undefined && version === this.#version) return this.#parsed;
    const bytes = readWhole(folder, name);
    this.#parsed = bytes === undefined ? undefined : this.#parse(bytes, folder.label(name));
    // Another process may have put another file there meanwhile.
    this.#version = version === versionOf(folder, name) ? version : undefined;
    return this.#parsed;
  }
}

/** Such a file is never written to again: another one takes its place. */
function versionOf(folder: Folder, name: string): string | undefined {
  const facts = folder.facts(name);
  return (
    facts &&
    `${folder.label(name)} ${facts.device} ${identityKey(facts)} ${facts.ctime.join(".")} ${facts.size}`
  );
}
