/**
 * Ids of plans are ULIDs, and strategies may rely on that: it is how they tell what is theirs in other
 * people's folders.
 */
export const PLAN_ID = "01K0000000000000000000P1AN";
export const OTHER_PLAN_ID = "01K000000000000000000THER0";
