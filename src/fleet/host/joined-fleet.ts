import type { LandedCleanup } from "../../commit/cleanup/landed-cleanup.ts";
import type { PlanRecord } from "../../core/plan.ts";
import type { AwaitedHost } from "../../core/resource/awaited-host.ts";
import type { OwnerRegistry } from "../../sandboxes/access/claims.ts";
import type { Operations } from "../../sandboxes/access/operations.ts";
import type { PlanSession } from "../../sandboxes/access/plan-session.ts";
import { FleetCoordinator } from "../drive/fleet-coordinator.ts";
import { waitsOf } from "../drive/waiting.ts";
import type { FleetLink } from "../link/fleet-link.ts";
import { Elsewhere } from "../remote/elsewhere.ts";
import { type FleetParts, FleetServices } from "./fleet-services.ts";

/** What a process needs besides to work on plans over hosts. Loaded only where the config names a fleet. */
export class JoinedFleet {
  readonly elsewhere: Elsewhere;
  readonly #link: FleetLink;

  constructor(link: FleetLink, operations: Operations) {
    this.#link = link;
    this.elsewhere = new Elsewhere(link, operations);
  }

  async waits(plan: PlanRecord): Promise<readonly AwaitedHost[]> {
    return await waitsOf(this.#link, plan);
  }

  coordinator(session: PlanSession, cleanup: LandedCleanup, owners: OwnerRegistry): FleetCoordinator {
    return new FleetCoordinator(this.#link, session, cleanup, owners);
  }

  services(parts: Omit<FleetParts, "link">): FleetServices {
    return new FleetServices({ ...parts, link: this.#link });
  }
}
