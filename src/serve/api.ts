import type { Operation } from "./operation.ts";
import { CHANGE_OPERATIONS } from "./operations/changes.ts";
import { COMMAND_OPERATIONS } from "./operations/commands.ts";
import { DETACHED_OPERATIONS } from "./operations/detached.ts";
import { EVENT_OPERATIONS } from "./operations/events.ts";
import { FILE_OPERATIONS } from "./operations/files.ts";
import { HOST_OPERATIONS } from "./operations/hosts.ts";
import { LANDING_OPERATIONS } from "./operations/landing.ts";
import { MACHINE_OPERATIONS } from "./operations/machine.ts";
import { PLAN_OPERATIONS } from "./operations/plans.ts";
import { REVIEW_OPERATIONS } from "./operations/reviews.ts";
import { RUN_OPERATIONS } from "./operations/run.ts";

/** Where the operations are. A change that breaks clients would get another number. */
export const BASE = "/v1";

/** Every operation of the API, in the order of the document. */
export const OPERATIONS: readonly Operation[] = [
  ...PLAN_OPERATIONS,
  ...FILE_OPERATIONS,
  ...RUN_OPERATIONS,
  ...COMMAND_OPERATIONS,
  ...DETACHED_OPERATIONS,
  ...CHANGE_OPERATIONS,
  ...REVIEW_OPERATIONS,
  ...LANDING_OPERATIONS,
  ...EVENT_OPERATIONS,
  ...HOST_OPERATIONS,
  ...MACHINE_OPERATIONS,
];
