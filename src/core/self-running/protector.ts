/** What stands in the place of a tool where a policy protects a path (protected-paths.ts). */
export const PROTECTOR = "the policy";

/** Whether a policy protects this, and no tool runs it. */
export function isProtected({ tool }: { readonly tool: string }): boolean {
  return tool === PROTECTOR;
}
