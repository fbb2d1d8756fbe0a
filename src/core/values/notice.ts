import type { LimitName } from "./limits.ts";

/**
 * A message for the user that is not the result of a call:
 * - `ignored-config`: a config was found and is ignored.
 * - `recovered`: the work of a process that died is settled, or removed.
 * - `pending`: something could not be settled or removed yet; the next opening tries again.
 * - `weaker`: this machine lets a command be confined less than usual, or keeps less for it.
 * - `refused`: the config of a project asks for more than the user's own allows; it does not get it.
 * - `kept`: a file that a command should have replaced for good changed meanwhile; the command's stays in the
 *   plan.
 * - `cache`: a cache that plans share was over its limit and is removed, or caches can't be shared.
 * - `denied`: a command asked for servers that it was not allowed to reach.
 * - `published`: a port of this machine leads to one of a command.
 * - `limit`: a command met a limit, and was ended or could not start more processes.
 */
export type Notice =
  | {
      readonly kind: "ignored-config";
      readonly message: string;
      readonly file: string;
      readonly remedy: ConfigRemedy;
    }
  | {
      readonly kind: "recovered" | "pending" | "weaker" | "refused" | "kept" | "cache" | "denied";
      readonly message: string;
      readonly planId: string;
    }
  | {
      readonly kind: "published";
      readonly message: string;
      readonly planId: string;
      readonly host: string;
      readonly port: number;
      /** The port of the command's own network. */
      readonly inside: number;
    }
  | { readonly kind: "limit"; readonly message: string; readonly planId: string; readonly limit: LimitName };

/**
 * How an ignored config can be made to apply:
 * - `trust`: trust it; it never was.
 * - `trust-again`: trust it again; it, or a module that it loads, changed since.
 * - `repair`: repair the module that can't be read, and trust it.
 * - `own`: make it a file that only this user can write, and trust it; or name it explicitly.
 * - `remove`: remove or rename it; it is not a regular file.
 */
export type ConfigRemedy = "trust" | "trust-again" | "repair" | "own" | "remove";
