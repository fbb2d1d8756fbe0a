import type { LimitName } from "./limits.ts";

/**
 * A message for the user that is not the result of a call:
 * - `ignored-config`: a config was found and is ignored.
 * - `recovered`: the work of a process that died is settled, or removed.
 * - `pending`: something could not be settled or removed yet; the next opening tries again.
 * - `limit`: a command met a limit, and was ended or could not start more processes.
 */
export type Notice =
  | { readonly kind: "ignored-config"; readonly message: string; readonly file: string }
  | { readonly kind: "recovered" | "pending"; readonly message: string; readonly planId: string }
  | { readonly kind: "limit"; readonly message: string; readonly planId: string; readonly limit: LimitName };
