import type { Entry } from "../../core/resource/entry.ts";

/** A path in a plan: which plan and resource, and where in it. */
export interface EntryAddress {
  /** Default: the only open plan. */
  readonly plan?: string | undefined;
  /** Default: the only resource. */
  readonly resource?: string | undefined;
  /** Relative to the resource; the root is ".". */
  readonly path: string;
}

/** Which entries to list. */
export interface ListOptions {
  /** Also what is in folders below. Default: no. */
  readonly recursive?: boolean;
  /** Only paths that this pattern chooses: `*`, `?`, and `**` for any number of folders. */
  readonly match?: string;
  /** Only paths that begin with this text. */
  readonly prefix?: string;
  /** Goes on after an earlier page: its `next`. */
  readonly cursor?: string;
  /** The most entries of a page. Default: 1,000. */
  readonly limit?: number;
}

/** A page of entries: depth first, in each folder by name. */
export interface EntryList {
  readonly entries: readonly Entry[];
  /** The cursor of the next page; absent on the last one. */
  readonly next?: string;
}

/** A part of a file. */
export interface ReadRange {
  /** The first byte. Default: 0. */
  readonly offset?: number;
  /** How many bytes at most. Default: all. */
  readonly length?: number;
}
