import { PLAN, World } from "./world.ts";

const ROUNDS = 3;

/**
 * Goes through what most requests to the driver go through, so that it has run before. Small trees, which any
 * user can make anywhere.
 */
export async function warmUp(): Promise<void> {
  for (let round = 0; round < ROUNDS; round += 1) {
    const world = new World({ strategy: "filesystem_copy", isSmall: true });
    try {
      await world.plan();
      await world.with(({ plans }) => plans.apply(PLAN));
      await world.with(({ plans }) => plans.undo(PLAN));
    } finally {
      world.remove();
    }
  }
}
