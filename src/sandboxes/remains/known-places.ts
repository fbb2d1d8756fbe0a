import { type SandboxRecord, workspaceOf } from "../../core/sandbox.ts";
import { BUILT_IN_STRATEGY_NAMES } from "../../core/strategy-names.ts";
import type { IntentRecord } from "../../store/store.ts";

/** A place in the world that a sandbox has, or may have. A type, because histories hold it as plain data. */
export type KnownPlace = {
  readonly kind: string;
  readonly location: string;
};

/** All places of a sandbox that the records know. */
export function placesOf({ ref }: SandboxRecord, intents: readonly IntentRecord[]): readonly KnownPlace[] {
  if (intents.length > 0) return intents.map(({ kind, location }) => ({ kind, location }));
  const workspace = workspaceOf(ref);
  if (workspace !== undefined) return [{ kind: "folder", location: workspace }];
  // A custom strategy may record nothing; then only its name for the sandbox is known.
  const isOurs = BUILT_IN_STRATEGY_NAMES.some((name) => name === ref.strategyName);
  return isOurs ? [] : [{ kind: `sandbox of ${ref.strategyName}`, location: ref.sandboxId }];
}
