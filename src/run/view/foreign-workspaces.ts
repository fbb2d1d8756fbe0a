import { isAtOrBelow } from "../../core/paths/byte-path.ts";
import { workspaceOf } from "../../core/sandbox.ts";
import type { Store } from "../../store/store.ts";
import { isThere } from "../../system/data/existence.ts";
import type { ShownSandbox } from "./shown-sandbox.ts";

/**
 * Workspaces of any plan beside or inside originals. Those inside a resource of this plan are not visible
 * anyway.
 */
export async function foreignWorkspaces(
  store: Store,
  stateDir: string,
  shown: readonly ShownSandbox[],
): Promise<readonly string[]> {
  const records = await store.sandboxesOutside(stateDir);
  return records
    .flatMap(({ ref }) => workspaceOf(ref) ?? [])
    .filter((path) => ![stateDir, ...shown.map(({ at }) => at)].some((above) => isAtOrBelow(path, above)))
    .filter(isThere);
}
