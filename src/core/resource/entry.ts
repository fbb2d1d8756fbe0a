/** The kinds of entry that a sandbox can show. */
export const ENTRY_KINDS = ["file", "directory", "symlink", "fifo", "socket", "device"] as const;

/** One entry of a sandbox, as programs see it. A link is not followed. */
export interface Entry {
  /** Relative to the resource; the root is ".". Bytes as in byte-path.ts. */
  readonly path: string;
  readonly kind: (typeof ENTRY_KINDS)[number];
  /** In bytes. */
  readonly size: number;
  /** Permission bits, 0 to 0o7777. */
  readonly mode: number;
  /** When it was last changed: UTC, ISO 8601, to the nanosecond. */
  readonly mtime: string;
  /** Where a symlink points. */
  readonly target?: string;
}
