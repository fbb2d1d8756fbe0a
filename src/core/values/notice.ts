import type { LimitName } from "./limits.ts";

/**
 * Something that the user should see, and that is no result of a call:
 * - `ignored-config`: a config was found and does not count.
 * - `recovered`: what a process that died had left is settled, or removed.
 * - `pending`: something is left that could not be settled or removed yet; the next opening tries again.
 * - `limit`: a command met a limit, and was ended or could not start more processes.
 */
export type Notice =
  | { readonly kind: "ignored-config"; readonly message: string; readonly file: string }
  | { readonly kind: "recovered" | "pending"; readonly message: string; readonly planId: string }
  | { readonly kind: "limit"; readonly message: string; readonly planId: string; readonly limit: LimitName };
