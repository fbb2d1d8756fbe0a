import type { PlanResource } from "../../core/plan.ts";
import type { ResourceRequest } from "../plan-views.ts";

/** The other hosts of a fleet, for making plans over them. */
export interface OtherHosts {
  /** The name of this host. */
  readonly host: string;
  /** The resources that a host has, with the strategies that it chooses. */
  resources(host: string, requests: readonly ResourceRequest[]): Promise<readonly PlanResource[]>;
}
