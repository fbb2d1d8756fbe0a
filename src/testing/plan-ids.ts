/**
 * Ids of plans are ULIDs, and strategies may rely on that: they recognize their own entries in folders of the
 * user by it.
 */
export const PLAN_ID = "01K0000000000000000000P1AN";
export const OTHER_PLAN_ID = "01K000000000000000000THER0";
