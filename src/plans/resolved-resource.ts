import type { Resource } from "../core/resource.ts";

/** A resource with the strategy that was asked for, if any, and by what. */
export interface ResolvedResource {
  readonly resource: Resource;
  readonly wanted?: { readonly strategy: string; readonly by: string };
  /** The password that its URL held. */
  readonly secret?: string;
  /** Its name in the config, and that of its parent there. */
  readonly declaredAs?: string;
  readonly parent?: string;
}
