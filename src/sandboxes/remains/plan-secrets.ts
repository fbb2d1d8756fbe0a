import { unlessGone } from "../../engine/tree/remove-tree.ts";
import { Folder } from "../../system/calls/folder.ts";
import { namesIn } from "../../system/data/existence.ts";
import { readTextFile } from "../../system/data/text-files.ts";
import { parsed, writeWhole } from "../../system/data/whole-file.ts";
import { failpoint } from "../../system/failpoints.ts";
import { ensureStateFolder, openStateFolder } from "../../system/state/state-folder.ts";

const POINTS = {
  make: failpoint("secrets.make"),
  write: failpoint("secrets.write"),
  remove: failpoint("secrets.remove"),
};
const FOLDER = "secrets";
const LARGEST = 1 << 20;

/** The passwords of a plan, by resource. */
export type Secrets = { readonly [resourceId: string]: string };

/**
 * `secrets/PLAN` in the state directory, 0600: the passwords in the URLs of a plan's resources, which
 * finishing a commit needs. They are stored nowhere else. They are written before anything of the plan exists
 * that needs them, and removed when nothing needs them any more. The folder stays, because another process
 * may be about to write there.
 */
export class PlanSecrets {
  readonly #stateDir: string;

  constructor(stateDir: string) {
    this.#stateDir = stateDir;
  }

  keep(planId: string, secrets: Secrets): void {
    if (Object.keys(secrets).length === 0) return;
    const path = `${this.#stateDir}/${FOLDER}`;
    ensureStateFolder(POINTS.make, path);
    using folder = openStateFolder(path);
    writeWhole(POINTS.write, folder, planId, Buffer.from(JSON.stringify(secrets)), "durable");
  }

  /** Keeps only the passwords of the other resources. */
  without(planId: string, resourceIds: readonly string[]): void {
    const kept = Object.entries(this.of(planId)).filter(([id]) => !resourceIds.includes(id));
    if (kept.length === 0) this.forget(planId);
    else this.keep(planId, Object.fromEntries(kept));
  }

  of(planId: string): Secrets {
    const file = readTextFile(this.place(planId), LARGEST);
    return (file === undefined ? undefined : parsed<Secrets>(file.bytes)) ?? {};
  }

  forget(planId: string): void {
    if (!this.plans().includes(planId)) return;
    using state = Folder.open(this.#stateDir);
    using folder = state.openChild(FOLDER);
    for (const name of folder.names()) {
      if (planOf(name) === planId) unlessGone(() => folder.removeFile(POINTS.remove, name));
    }
  }

  /** The plans that have a file here, complete or half written. */
  plans(): readonly string[] {
    return [...new Set(namesIn(`${this.#stateDir}/${FOLDER}`).flatMap((name) => planOf(name) ?? []))];
  }

  /** The path of the plan's file. */
  place(planId: string): string {
    return `${this.#stateDir}/${FOLDER}/${planId}`;
  }
}

/** The plan of a file, also of one that a crash left half written (see whole-file.ts). */
function planOf(name: string): string | undefined {
  return /^([0-9A-Z]{26})(?:[.]new)?$/.exec(name)?.[1];
}
