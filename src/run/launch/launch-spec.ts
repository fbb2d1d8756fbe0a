import type { MemoryEntry } from "../../system/launch/memory-entries.ts";
import type { MountFlags } from "../../system/launch/new-mount.ts";
import type { TerminalShape } from "../../system/launch/own-terminal.ts";
import type { OverlayKind } from "../../system/mount/overlay-mount.ts";
import type { FileWalls } from "../../system/walls/landlock.ts";
import type { GuardedServer } from "../call-supervisor/server-addresses.ts";

/**
 * What a launcher does, as plain data. Drydock sends it as one line of JSON to the launcher's control socket.
 * Paths and words hold any bytes, see core/paths/byte-path.ts.
 */
export type LaunchSpec = ViewSpec | WalledSpec;

/** The command itself. */
interface BecomingSpec {
  /** The path of the file at standard input, if that is a file. */
  readonly inputFile?: string;
  /** The terminal that the command gets, and which of its standard streams are connected to it. */
  readonly terminal?: TerminalShape & { readonly streams: readonly number[] };
  /** How many files the command may have open. */
  readonly openFiles?: number;
  /** The shell that starts the command and waits for it, with its arguments. */
  readonly shell: { readonly file: string; readonly args: readonly string[] };
  /** Each as NAME=VALUE. */
  readonly environment: readonly string[];
  readonly cwd: string;
}

/** A command in namespaces of its own, with a view. */
export interface ViewSpec extends BecomingSpec {
  /**
   * Whether Drydock may mount freely. If not, a user namespace gives the launcher that right until the
   * command starts.
   */
  readonly privileged: boolean;
  /** The pid of a process whose view the command joins. */
  readonly joins?: number;
  /** The steps that build the new root, in order. */
  readonly steps: readonly ViewStep[];
  /** The command's own network, with only a loopback. Absent: that of the machine. */
  readonly network?: OwnNetwork;
  /** Where the view has a socket that leads to Drydock: run/channel/command-channel.ts. */
  readonly channel?: { readonly folder: string; readonly name: string };
  /** Servers that the command can't reach: run/call-supervisor/connect-guard.ts. */
  readonly guards?: readonly GuardedServer[];
  /** Whether the command can't reach abstract sockets of processes outside. */
  readonly noAbstractSockets: boolean;
}

/** What leads out of a command's own network, or into it. */
export interface OwnNetwork {
  /** The port of the loopback at which a proxy of Drydock's listens. */
  readonly proxyPort?: number;
  /** The sockets that Drydock gets, to connect to servers in there: of which version of IP each. */
  readonly sockets?: readonly (4 | 6)[];
}

/** A command on the machine as it is, where there are no namespaces: run/walls/walled-command.ts. */
export interface WalledSpec extends BecomingSpec {
  /** Absent for a command without walls. */
  readonly walls?: Omit<FileWalls, "devices"> & { readonly network: boolean };
  readonly links: readonly { readonly at: string; readonly to: string }[];
}

/** One thing to mount, or to make, at a path of the new root. */
export type ViewStep =
  /**
   * `ifThere`: the mount of the host may be gone by now, or the plan may have no such path, or a link on
   * the way to it; then there is nothing to show. No link is followed.
   */
  | {
      readonly step: "bind";
      readonly at: string;
      readonly from: string;
      readonly flags: MountFlags;
      readonly ifThere?: true;
    }
  /** Binds a path to itself, with other flags, or only so that it can't be moved. */
  | { readonly step: "self-bind"; readonly at: string; readonly flags: MountFlags; readonly ifThere?: true }
  | {
      readonly step: "system";
      readonly at: string;
      readonly type: "proc" | "devpts" | "tmpfs";
      readonly settings: readonly (readonly [string, string])[];
      readonly flags: MountFlags;
      /**
       * What the view shows of the host at this path if the kernel refuses a new one, as it does for /proc in
       * most containers.
       */
      readonly orHost?: true;
    }
  /** A file system in memory with exactly these entries. */
  | {
      readonly step: "memory";
      readonly at: string;
      readonly entries: readonly MemoryEntry[];
      readonly ifThere?: true;
    }
  /**
   * What the plan may have at a path that a command must not see: a folder looks as the memory above does,
   * and anything else like an empty file. Nothing is to be covered where the plan has nothing, or a link:
   * what that leads to has its own rules.
   */
  | { readonly step: "cover"; readonly at: string; readonly entries: readonly MemoryEntry[] }
  /** `orHide`: a folder whose file system can't be a layer looks empty; without it, that is an error. */
  | { readonly step: "overlay"; readonly at: string; readonly layers: ViewLayers; readonly orHide?: true }
  /** A mount point in a folder that a command can write to. */
  | { readonly step: "point"; readonly at: string; readonly isFile: boolean }
  | { readonly step: "link"; readonly at: string; readonly to: string };

/** Paths of layers. Without `upper` the overlay is read-only and shows the lower layer. */
export interface ViewLayers {
  readonly lower: string;
  readonly hidden?: string;
  /** Paths in the lower layer that the overlay does not show. */
  readonly without?: readonly string[];
  readonly upper?: string;
  readonly work?: string;
  readonly source: string;
  readonly kind: OverlayKind;
}

/** The descriptors that a launcher inherits. */
export const DESCRIPTORS = {
  /**
   * A stream socket, with one message per line:
   * 1. The launcher sends "waiting".
   * 2. Drydock sends the specification.
   * 3. The launcher sends "failed" and a message, or "denied" and a message if it may not mount at all, or
   *    the shell that it became sends "ready". Before that, "weaker" and a path say what of the host stays
   *    visible there, or that servers are not guarded.
   * 4. The shell sends "stopped" or "keyboard" when the command stops; Drydock answers with a line when it
   *    may go on.
   */
  control: 3,
  /** The command's standard error. Until the command starts, 2 is a pipe to Drydock. */
  errors: 4,
  /**
   * A socket that passes descriptors to Drydock, in this order: the file at standard input, the terminal, the
   * socket of the channel, the socket at which the proxy listens, sockets to connect with, that of the
   * supervisor of guards. Each only if there is one.
   */
  passing: 5,
} as const;

/** What the launcher says is weaker if no supervisor guards servers. */
export const UNGUARDED = "guards";

/** The argument that makes the launcher a keeper. */
export const KEEP = "keep";
