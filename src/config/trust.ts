import { createHash } from "node:crypto";
import { displayPath } from "../core/byte-path.ts";
import { ConfigError, UsageError } from "../core/errors.ts";
import { type FileOwnership, ownershipOf, realPathOf } from "../system/text-files.ts";
import { asConfigError, readConfigFile } from "./config-file.ts";
import { type User, whyOthersControl } from "./foreign-control.ts";
import { type TrustRecord, TrustRecords } from "./trust-records.ts";

/** A config's text if it is trusted; else why not, and what the user could do. */
export type TrustVerdict =
  | { readonly trusted: true; readonly text: string }
  | { readonly trusted: false; readonly why: string; readonly remedy: string };

/**
 * Which configs the user trusts: those that `drydock trust` was called for, as long as they have exactly the content they had then. One
 * that somebody else could have written is never trusted, whatever it says.
 */
export class TrustStore {
  readonly #records: TrustRecords;
  readonly #user: User;
  readonly #now: () => Date;

  constructor(options: { readonly stateDir: string; readonly user: User; readonly now: () => Date }) {
    this.#records = new TrustRecords(options.stateDir, options.user);
    this.#user = options.user;
    this.#now = options.now;
  }

  /** Trusts this config with its present content, durably. Makes the state directory if it is missing. */
  trust(path: string): TrustRecord {
    const file = asConfigError(path, () => realPathOf(path));
    const content = file === undefined ? undefined : readConfigFile(file);
    if (file === undefined || content === undefined) {
      throw new ConfigError(`There is no config at ${displayPath(path)}.`, {
        file: path,
        hint: "Give the path of a drydock.yaml, or make one with 'drydock init'.",
      });
    }
    const foreign = this.#foreignControl(content);
    if (foreign !== undefined) {
      throw new UsageError(`${displayPath(file)} cannot be trusted: ${foreign.why}.`, {
        hint: `To use it, ${foreign.remedy}.`,
      });
    }
    const record = { file, sha256: digestOf(content.bytes), trustedAt: this.#now().toISOString() };
    this.#records.put(record);
    return record;
  }

  /** Whether the config at this real path is trusted with this content. */
  isTrusted(file: string, content: Uint8Array): boolean {
    return this.#records.find(file)?.sha256 === digestOf(content);
  }

  /** Reads the config at this real path if it is trusted; one that never was is not even opened. Undefined if it is gone. */
  readTrusted(file: string): TrustVerdict | undefined {
    const ownership = asConfigError(file, () => ownershipOf(file));
    if (ownership === undefined) return undefined;
    const foreign = this.#foreignControl(ownership);
    if (foreign !== undefined) return { trusted: false, ...foreign };
    if (this.#records.find(file) === undefined) return untrusted("not trusted", file, "to use it");
    const content = readConfigFile(file);
    if (content === undefined) return undefined;
    if (!this.isTrusted(file, content.bytes)) {
      return untrusted("changed since it was trusted", file, "to use it as it is now");
    }
    return { trusted: true, text: content.text };
  }

  #foreignControl(ownership: FileOwnership): { readonly why: string; readonly remedy: string } | undefined {
    const why = whyOthersControl(ownership, this.#user);
    if (why === undefined) return undefined;
    return { why, remedy: "make it a file that only you can write and run 'drydock trust', or name it with --config" };
  }
}

function digestOf(content: Uint8Array): string {
  return createHash("sha256").update(content).digest("hex");
}

function untrusted(why: string, file: string, purpose: string): TrustVerdict {
  // Only a path that a shell takes as it stands is worth copying; without one the command takes the nearest config, which is this one.
  const argument = /^[\w./@%+=:,-]+$/.test(file) ? ` ${file}` : "";
  return { trusted: false, why, remedy: `run 'drydock trust${argument}' ${purpose}` };
}
