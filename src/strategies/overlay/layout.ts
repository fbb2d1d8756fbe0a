/**
 * The names of an overlay in its workspace. Other files beside them belong to the modules that write them.
 */

/** The upper layer: the work. */
export const UPPER = "upper";
/** The overlay's own folder, with its index. */
export const WORK = "work";
/** The mount point. */
export const MERGED = "merged";

/**
 * The ways to mount an overlay, the best first: as root; without privilege in a user namespace; by a process
 * in user space.
 */
export const OVERLAY_WAYS = ["kernel", "user-namespace", "fuse"] as const;
export type OverlayWay = (typeof OVERLAY_WAYS)[number];
