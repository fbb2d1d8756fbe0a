import { join } from "node:path";
import { StateError } from "../../core/errors/errors.ts";
import { displayPath } from "../../core/paths/byte-path.ts";
import { type FileOwnership, ownershipOf, readTextFile } from "../../system/data/text-files.ts";
import { writeWhole } from "../../system/data/whole-file.ts";
import { failpoint } from "../../system/failpoints.ts";
import { whileLocked } from "../../system/state/lock.ts";
import { ensureStateFolder, openStateFolder } from "../../system/state/state-folder.ts";
import { type User, whyOthersControl } from "./foreign-control.ts";

/**
 * The record of the configs that the user trusts: `trusted.json` in the state directory, mode 0600,
 * `{ "version": 1, "configs": [{ "file", "sha256", "trustedAt", "modules"?: [{ "file", "sha256" }] }] }`
 * with one record for each real path.
 *
 * It is read, changed and written whole (see whole-file.ts) under the lock of the state directory, so that
 * two processes that trust at the same time both succeed.
 */
export interface TrustRecord {
  /** The real path of the config. */
  readonly file: string;
  /** SHA-256 of its content, in hex. */
  readonly sha256: string;
  /** UTC, ISO 8601. */
  readonly trustedAt: string;
  /**
   * The files that are loaded with the modules of the config (module-coverage.ts), by path. Absent: none.
   */
  readonly modules?: readonly TrustedModule[];
}

export interface TrustedModule {
  /** Its real path. */
  readonly file: string;
  /** SHA-256 of its content, in hex. */
  readonly sha256: string;
}

const NAME = "trusted.json";
const VERSION = 1;
const MAX_BYTES = 16 * 1024 * 1024;

export class TrustRecords {
  readonly #stateDir: string;
  readonly #file: string;
  readonly #user: User;

  /** The state directory need not exist yet. */
  constructor(stateDir: string, user: User) {
    this.#stateDir = stateDir;
    this.#file = join(stateDir, NAME);
    this.#user = user;
  }

  /** The record of the config at this real path. */
  find(config: string): TrustRecord | undefined {
    return this.#read().find(({ file }) => file === config);
  }

  /** Writes this record durably, in place of an older one for the same config. */
  put(record: TrustRecord): void {
    ensureStateFolder(failpoint("trust.state-folder"), this.#stateDir);
    using folder = openStateFolder(this.#stateDir);
    whileLocked(folder, () => {
      const configs = [...this.#read().filter(({ file }) => file !== record.file), record];
      const text = `${JSON.stringify({ version: VERSION, configs }, undefined, 2)}\n`;
      writeWhole(failpoint("trust.write"), folder, NAME, Buffer.from(text), "durable");
    });
  }

  #read(): readonly TrustRecord[] {
    const content = readTextFile(this.#file, MAX_BYTES);
    if (content === undefined) return [];
    this.#refuseForeign(this.#stateDir, ownershipOf(this.#stateDir));
    this.#refuseForeign(this.#file, content);
    return parseRecords(content.text, this.#file);
  }

  #refuseForeign(path: string, ownership: FileOwnership | undefined): void {
    const why = ownership === undefined ? undefined : whyOthersControl(ownership, this.#user);
    if (why === undefined) return;
    throw new StateError(`${displayPath(path)} cannot be relied on: ${why}.`, {
      hint: "Use a state directory that only you can write, and trust your configs again.",
    });
  }
}

function parseRecords(text: string, file: string): readonly TrustRecord[] {
  const data = parseJson(text);
  if (isRecordsFile(data)) return data.configs;
  const newer =
    typeof data === "object" && data !== null && "version" in data && Number(data.version) > VERSION;
  throw new StateError(`${displayPath(file)} ${newer ? "was written by a newer Drydock" : "is damaged"}.`, {
    hint: newer ? "Update Drydock." : "Remove it, and trust your configs again.",
  });
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (thrown) {
    if (thrown instanceof SyntaxError) return undefined;
    throw thrown;
  }
}

function isRecordsFile(data: unknown): data is { readonly configs: readonly TrustRecord[] } {
  if (typeof data !== "object" || data === null || !("version" in data) || !("configs" in data)) return false;
  return data.version === VERSION && Array.isArray(data.configs) && data.configs.every(isRecord);
}

function isRecord(data: unknown): data is TrustRecord {
  if (typeof data !== "object" || data === null) return false;
  const { modules = [] } = data as { readonly modules?: unknown };
  if (!Array.isArray(modules) || !modules.every((module) => hasTexts(module, ["file", "sha256"])))
    return false;
  return hasTexts(data, ["file", "sha256", "trustedAt"]);
}

function hasTexts(data: unknown, keys: readonly string[]): boolean {
  if (typeof data !== "object" || data === null) return false;
  return keys.every((key) => typeof (data as { readonly [key: string]: unknown })[key] === "string");
}
