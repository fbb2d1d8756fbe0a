/**
 * The names of an overlay in its workspace. Other files beside them belong to the modules that write them.
 */

/** The upper layer: the work. */
export const UPPER = "upper";
/** The overlay's own folder, with its index. */
export const WORK = "work";
/** The mount point. */
export const MERGED = "merged";
