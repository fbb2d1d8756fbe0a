import type { BaseFacts } from "../../../engine/base/base-facts.ts";
import type { Time } from "../../../system/calls/facts.ts";

/** What of an entry of the upper layer shows that it is still as it landed. */
export interface OwnEntry extends Pick<BaseFacts, "ino" | "btime" | "kind"> {
  readonly ctime: Time;
  /** Of a file that a program had open for writing, or mapped: what it writes may move no time. */
  readonly digest?: string;
}

/** A path whose entry has landed, and is still in the upper layer. */
export interface LandedEntry {
  /** Undefined if it is the whiteout that has landed. */
  readonly own?: OwnEntry;
  /** It is about to leave the layer, or has left it. */
  readonly leaves?: true;
}
