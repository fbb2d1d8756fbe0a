import { ConfigError, SystemCallError, UsageError } from "../../core/errors/errors.ts";
import { displayPath } from "../../core/paths/byte-path.ts";
import { holdsInvisible } from "../../core/values/invisible-characters.ts";
import type { ConfigRemedy } from "../../core/values/notice.ts";
import { digestOf } from "../../system/data/digest.ts";
import { realPathOf } from "../../system/data/locations.ts";
import { type FileOwnership, ownershipOf } from "../../system/data/text-files.ts";
import { asConfigError, readConfigFile } from "../yaml/config-file.ts";
import { type User, whyOthersControl } from "./foreign-control.ts";
import { coverageOf } from "./module-coverage.ts";
import { type TrustedModule, type TrustRecord, TrustRecords } from "./trust-records.ts";

/** The text of a trusted config; else why it is not trusted, and a remedy. */
export type TrustVerdict = { readonly trusted: true; readonly text: string } | Untrusted;

export interface Untrusted {
  readonly trusted: false;
  readonly why: string;
  readonly remedy: ConfigRemedy;
}

/** The trusted files, and what the user should know about them. */
export interface Trusted extends TrustRecord {
  readonly modules: readonly TrustedModule[];
  /** Packages that the modules import, which the trust does not cover. */
  readonly packages: readonly string[];
  /** The files that hold invisible characters. */
  readonly hidesText: readonly string[];
}

/**
 * The configs that the user trusts: those that `drydock trust` was called for, while they and the files that
 * they load have exactly the same content. A config that another user could have written is never trusted,
 * whatever it says.
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

  /**
   * Trusts the present content of this config and of the files that are loaded with its modules, durably.
   * Makes the state directory if it is missing. `modulesIn` says where the modules are.
   */
  trust(path: string, modulesIn: (file: string, text: string) => readonly string[] = () => []): Trusted {
    const file = asConfigError(path, () => realPathOf(path));
    const content = file === undefined ? undefined : readConfigFile(file);
    if (file === undefined || content === undefined) {
      throw new ConfigError(`There is no config at ${displayPath(path)}.`, {
        file: path,
        code: "NO_CONFIG",
      });
    }
    this.#refuseForeign({ ...content, file });
    const { files, packages } = coverageOf(modulesIn(file, content.text));
    for (const covered of files) this.#refuseForeign(covered);
    const modules = files.map(({ file: at, sha256 }) => ({ file: at, sha256 }));
    const record = { file, sha256: digestOf(content.bytes), trustedAt: this.#now().toISOString() };
    this.#records.put(modules.length === 0 ? record : { ...record, modules });
    const hiding = files.filter(({ hidesText }) => hidesText).map((covered) => covered.file);
    return {
      ...record,
      modules,
      packages,
      hidesText: [...(holdsInvisible(content.text) ? [file] : []), ...hiding],
    };
  }

  /** Why the trusted config at this real path may not load these modules now; undefined if it may. */
  whyModulesDiffer(file: string, modules: readonly string[]): Pick<Untrusted, "why" | "remedy"> | undefined {
    try {
      const { files } = coverageOf(modules);
      for (const covered of files) {
        const foreign = whyOthersControl(covered, this.#user);
        if (foreign !== undefined)
          return { why: `of ${displayPath(covered.file)}: ${foreign}`, remedy: "own" };
      }
      const why = difference(this.#records.find(file)?.modules ?? [], files);
      return why === undefined ? undefined : { why, remedy: "trust-again" };
    } catch (thrown) {
      // A file that can't be read does not count as trusted. A command that needs none of them goes on.
      if (!(thrown instanceof SystemCallError || thrown instanceof UsageError)) throw thrown;
      return { why: thrown.message, remedy: "repair" };
    }
  }

  /** Whether the config at this real path is trusted with this content. */
  isTrusted(file: string, content: Uint8Array): boolean {
    return this.#records.find(file)?.sha256 === digestOf(content);
  }

  /**
   * Reads the config at this real path if it is trusted; does not even open one that never was. Undefined if
   * it is gone.
   */
  readTrusted(file: string): TrustVerdict | undefined {
    const ownership = asConfigError(file, () => ownershipOf(file));
    if (ownership === undefined) return undefined;
    if (!ownership.isFile) return { trusted: false, why: "it is not a regular file", remedy: "remove" };
    const foreign = whyOthersControl(ownership, this.#user);
    if (foreign !== undefined) return { trusted: false, why: foreign, remedy: "own" };
    if (this.#records.find(file) === undefined)
      return { trusted: false, why: "not trusted", remedy: "trust" };
    const content = readConfigFile(file);
    if (content === undefined) return undefined;
    if (!this.isTrusted(file, content.bytes))
      return { trusted: false, why: "changed since it was trusted", remedy: "trust-again" };
    return { trusted: true, text: content.text };
  }

  #refuseForeign(owned: FileOwnership & { readonly file: string }): void {
    const foreign = whyOthersControl(owned, this.#user);
    if (foreign === undefined) return;
    throw new UsageError(`${displayPath(owned.file)} cannot be trusted: ${foreign}.`, {
      code: "FOREIGN_CONFIG",
    });
  }
}

/**
 * The first file that would be loaded without being trusted as it is, and how many more there are. A missing
 * file does not count: everything else was trusted too, and a module that can't be loaded has an error of its
 * own.
 */
function difference(before: readonly TrustedModule[], now: readonly TrustedModule[]): string | undefined {
  const trusted = new Map(before.map(({ file, sha256 }) => [file, sha256]));
  const [first, ...others] = now.filter(({ file, sha256 }) => trusted.get(file) !== sha256);
  if (first === undefined) return undefined;
  const name = displayPath(first.file);
  const what = trusted.has(first.file)
    ? `${name} changed since it was trusted`
    : `it loads ${name}, which was not trusted`;
  return others.length === 0 ? what : `${what} (and ${others.length} more)`;
}
