/** How a program sees a sandbox in the place of the original. */
export type ProgramView = BindView | LayersView;

/** A path of the host, shown by a bind mount. */
export interface BindView {
  readonly kind: "place";
  readonly path: string;
  /**
   * The name of the file, if the resource is a single file and the whole folder around it is shown, so that
   * programs can save by rename.
   */
  readonly only?: string;
  /** The path is shown where it is, not in the place of the original, which is then read-only. */
  readonly atOwnPath?: true;
  /** Other paths of the host that are shown too, read-only. */
  readonly refersTo?: readonly string[];
}

/**
 * Layers of an overlay that the launcher mounts in a namespace of its own, because the host allows no such
 * mount.
 */
export interface LayersView {
  readonly kind: "layers";
  readonly lower: string;
  /** A layer between the two that only hides names of the lower one, whatever happens to them. */
  readonly hidden?: string;
  readonly upper: string;
  readonly work: string;
  /** The source name of the mount, by which it is found in every namespace. */
  readonly source: string;
  readonly only?: string;
}
