import { openServices } from "../../src/runtime.ts";
import type { Services } from "../../src/services.ts";
import { Workplace } from "./workplace.ts";

export const DAY = 86_400_000;

/** A place with a folder to work on, whose state directory is opened some days later. */
export class Later extends Workplace {
  constructor() {
    super();
    this.write("app/a", "1\n");
  }

  async with<T>(days: number, action: (services: Services) => Promise<T>): Promise<T> {
    const services = await openServices({
      stateDir: this.state,
      cwd: this.path,
      environment: {},
      now: () => new Date(Date.now() + days * DAY),
    });
    try {
      return await action(services);
    } finally {
      await services.close();
    }
  }

  /** Makes and applies a plan. */
  async applied(name: string): Promise<void> {
    await this.with(0, async ({ plans }) => {
      await plans.create({ name, resources: [{ location: "app", strategy: "filesystem_copy" }] });
      await plans.write(name, undefined, "a", Buffer.from(`${name}\n`));
      await plans.apply(name);
    });
  }
}
