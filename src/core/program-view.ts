/** How a program comes to see a sandbox in the place of the original. */
export type ProgramView = PlaceView | LayersView;

/** Something of the host that is shown there by a bind mount. */
export interface PlaceView {
  readonly kind: "place";
  readonly path: string;
  /**
   * If the resource is a single file and the whole folder around it is to be shown, so that programs can save
   * by rename: its name.
   */
  readonly only?: string;
  /** It is shown where it is, and not in the place of the original, which then can't be changed. */
  readonly atOwnPath?: true;
  /** Other paths of the host that have to be seen there too, and can't be changed. */
  readonly refersTo?: readonly string[];
}

/**
 * Layers of an overlay that the process which starts the program mounts in a namespace of its own, because no
 * process may on the host.
 */
export interface LayersView {
  readonly kind: "layers";
  readonly lower: string;
  /** A layer between the two that only hides names of the lower one, whatever becomes of them. */
  readonly hidden?: string;
  readonly upper: string;
  readonly work: string;
  /** The name that the mount is to be given, by which it is found in every namespace. */
  readonly source: string;
  readonly only?: string;
}
