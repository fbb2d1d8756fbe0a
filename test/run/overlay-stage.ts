import { execFileSync } from "node:child_process";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { type Actor, Stage } from "./stage.ts";

const LAYERS = ["lower", "upper", "work"];

/** A stage with its state on an overlay, as on the root of a container. */
export class OverlayStage extends Stage {
  readonly temporary = join(this.path, "temporary");

  constructor(actor: Actor) {
    super(actor);
    const folders = [this.state, this.temporary, ...LAYERS.map((name) => join(this.path, name))];
    for (const folder of folders) mkdirSync(folder, { mode: 0o700 });
    const [lower, upper, work] = LAYERS.map((name) => join(this.path, name));
    const layers = `lowerdir=${lower},upperdir=${upper},workdir=${work}`;
    this.give();
    execFileSync("mount", ["-t", "overlay", "drydock-test", "-o", layers, this.state]);
  }

  override get environment(): NodeJS.ProcessEnv {
    return { ...super.environment, TMPDIR: this.temporary };
  }
}
