/**
 * The names of an overlay in its workspace. The marks that others may leave beside them belong to those who
 * leave them.
 */

/** The upper layer: the work. */
export const UPPER = "upper";
/** The overlay's own folder, with its index. */
export const WORK = "work";
/** The mount point. */
export const MERGED = "merged";
