import type { PlanLabels } from "../../../core/plan.ts";
import type { SpawnedCommand } from "../../../run/spawn.ts";
import type { Services } from "../../../services.ts";
import type { WindowSize } from "../../../system/terminal/program-streams.ts";
import type { CommandOptions } from "../../options/command-options.ts";
import type { EndOptions } from "./decision.ts";

/** The options of `run` and `shell`. */
export interface RunOptions extends CommandOptions, EndOptions {
  readonly resource?: readonly string[];
  readonly add?: readonly string[];
  readonly name?: string;
  readonly label?: PlanLabels;
  readonly stat?: number;
  readonly message?: string;
  readonly squash?: boolean;
  readonly allowIrreversible?: boolean;
  readonly allow?: readonly string[];
  readonly explain?: boolean;
  readonly detach?: boolean;
}

/** Who has the command's streams, if not this process. */
export interface Talk {
  readonly talk: (command: SpawnedCommand, drydock: Services) => Promise<void>;
  /** The command is detached, at a terminal of this size. */
  readonly detached?: WindowSize;
  /** Aborting it ends the command. */
  readonly signal?: AbortSignal;
}

/** The options of `plan exec`. */
export interface ExecOptions extends CommandOptions {
  readonly add?: readonly string[];
  readonly maxOutput?: number;
  readonly on?: string;
  readonly detach?: boolean;
}
