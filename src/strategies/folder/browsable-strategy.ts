import type { Change } from "../../core/change.ts";
import type { SandboxRef } from "../../core/sandbox.ts";
import type { Browsable } from "../../core/strategy-abilities.ts";
import type { FileContent } from "../../engine/sandbox/writing.ts";
import { lazyValue } from "../../engine/work/lazy-value.ts";
import type { BrowsedSandbox, Browsing } from "./browsing.ts";
import { WorkspaceStrategy } from "./workspace-strategy.ts";

/**
 * A strategy of workspaces whose sandboxes have entries. The methods for single entries are loaded when one
 * is used: neither an apply nor a diff needs them.
 */
export abstract class BrowsableStrategy<Sandbox extends Disposable>
  extends WorkspaceStrategy<Sandbox>
  implements Browsable
{
  protected readonly browsing = lazyValue(
    async () =>
      new (await import("./browsing.ts")).Browsing(
        (...given) => this.browse(...given),
        (...given) => this.write(...given),
      ),
  );
  readonly stat: Browsing["stat"] = async (...given) => (await this.browsing()).stat(...given);
  readonly list: Browsing["list"] = async (...given) => (await this.browsing()).list(...given);
  readonly readPart: Browsing["readPart"] = async (...given) => (await this.browsing()).readPart(...given);
  readonly writeFrom: Browsing["writeFrom"] = async (...given) => (await this.browsing()).writeFrom(...given);
  readonly makeFolder: Browsing["makeFolder"] = async (...given) =>
    (await this.browsing()).makeFolder(...given);
  readonly remove: Browsing["remove"] = async (...given) => (await this.browsing()).remove(...given);
  readonly rename: Browsing["rename"] = async (...given) => (await this.browsing()).rename(...given);

  /** Calls back with the entries of a sandbox. */
  protected abstract browse<T>(
    ref: SandboxRef,
    purpose: "look" | "change",
    action: (sandbox: BrowsedSandbox) => T,
  ): Promise<T>;

  abstract write(ref: SandboxRef, path: string, bytes: FileContent): Promise<Change>;
}
