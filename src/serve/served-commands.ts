import { UsageError } from "../core/errors/errors.ts";
import type { SpawnedCommand } from "../run/spawn.ts";
import { newId } from "../system/state/new-id.ts";

/** The commands whose output clients read as a stream, by the name that their other requests use. */
export class ServedCommands {
  readonly #running = new Map<string, SpawnedCommand>();

  /** Names a command while the result is in scope. */
  add(command: SpawnedCommand): Disposable & { readonly exec: string } {
    const exec = newId();
    this.#running.set(exec, command);
    return { exec, [Symbol.dispose]: () => void this.#running.delete(exec) };
  }

  find(exec: string): SpawnedCommand {
    const found = this.#running.get(exec);
    if (found !== undefined) return found;
    throw new UsageError(`There is no running command ${exec}.`, {
      hint: "It has ended, or its stream was closed, which ends it.",
      code: "NO_SUCH_COMMAND",
    });
  }
}
