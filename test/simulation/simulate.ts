import { Violation } from "./original.ts";
import { PROTOCOL } from "./protocol.ts";
import { RULES, type RuleName } from "./rules.ts";
import { World } from "./world.ts";

/** What came of one run. */
export interface Run {
  /** What happened that must never happen. */
  readonly violation: string | undefined;
  readonly steps: number;
}

/** One run, the same for the same seed, of the protocol without these rules. */
export function simulate(seed: number, without: readonly RuleName[] = []): Run {
  const protocol = without.reduce((rest, rule) => RULES[rule].without(rest), PROTOCOL);
  const world = new World(seed, protocol);
  try {
    return { violation: undefined, steps: world.run() };
  } catch (thrown) {
    // Without a rule the machine itself may meet what it was never made for.
    if (!(thrown instanceof Violation) && without.length === 0) throw thrown;
    return { violation: (thrown as Error).message, steps: world.around.timeline.moments };
  }
}
