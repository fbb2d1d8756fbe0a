import type { MemoryEntry } from "../../system/launch/memory-entries.ts";
import type { MountFlags } from "../../system/launch/new-mount.ts";
import type { TerminalShape } from "../../system/launch/own-terminal.ts";
import type { OverlayKind } from "../../system/mount/overlay-mount.ts";

/**
 * What a launcher does, as plain data: Drydock writes it as one line of JSON to the launcher's control
 * socket. Paths and words hold any bytes, see core/byte-path.ts.
 */
export interface LaunchSpec {
  /** Whether we may mount as we like. Else a user namespace gives us that right until the command starts. */
  readonly privileged: boolean;
  /** The pid of a process whose view is taken over. */
  readonly joins?: number;
  /** What is mounted in the new root, in this order. */
  readonly steps: readonly ViewStep[];
  /** Whether the network is the command's own, with nothing in it but a loopback. */
  readonly ownNetwork: boolean;
  /** Whether sockets without a path, of processes outside, are out of reach. */
  readonly noAbstractSockets: boolean;
  /** The path of the file at standard input, if that is a file. */
  readonly inputFile?: string;
  /** The terminal that the command gets, and which of its standard streams are connected to it. */
  readonly terminal?: TerminalShape & { readonly streams: readonly number[] };
  /** How many files the command may have open. */
  readonly openFiles?: number;
  /** The shell that starts the command and waits for it, and what it is given. */
  readonly shell: { readonly file: string; readonly args: readonly string[] };
  /** Each as NAME=VALUE. */
  readonly environment: readonly string[];
  readonly cwd: string;
}

/** One thing to mount, or to make, at a path of the new root. */
export type ViewStep =
  /** What the host has mounted may be gone by now; then there is nothing to show. */
  | {
      readonly step: "bind";
      readonly at: string;
      readonly from: string;
      readonly flags: MountFlags;
      readonly ifThere?: true;
    }
  /** What is there, once more in its place: with other flags, or only so that it can't be moved. */
  | { readonly step: "self-bind"; readonly at: string; readonly flags: MountFlags }
  | {
      readonly step: "system";
      readonly at: string;
      readonly type: "proc" | "devpts" | "tmpfs";
      readonly settings: readonly (readonly [string, string])[];
      readonly flags: MountFlags;
    }
  /** These entries and nothing else. */
  | { readonly step: "memory"; readonly at: string; readonly entries: readonly MemoryEntry[] }
  /** A file system that can't be a layer is an error, or its folder looks empty. */
  | { readonly step: "overlay"; readonly at: string; readonly layers: ViewLayers; readonly orHide?: true }
  /** Something to mount on, in a folder that a command can write to. */
  | { readonly step: "point"; readonly at: string; readonly isFile: boolean }
  | { readonly step: "link"; readonly at: string; readonly to: string };

/** Paths of layers. Without an upper one nothing can be written, and what is shown is the lower one. */
export interface ViewLayers {
  readonly lower: string;
  readonly hidden?: string;
  /** Paths in the lower layer that are missing. */
  readonly without?: readonly string[];
  readonly upper?: string;
  readonly work?: string;
  readonly source: string;
  readonly kind: OverlayKind;
}

/** The descriptors at which a launcher finds what it needs. */
export const DESCRIPTORS = {
  /**
   * A stream socket: "waiting" goes out, the specification comes in, then "ready" or a failure goes out, then
   * what the shell says of a stopped command.
   */
  control: 3,
  /** What is to be the command's standard error; until then 2 is a pipe to Drydock. */
  errors: 4,
  /** A socket by which descriptors are handed to Drydock. */
  passing: 5,
} as const;
