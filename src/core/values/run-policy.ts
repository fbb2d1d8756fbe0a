import type { LimitName } from "./limits.ts";

/**
 * What commands inside plans may read, keep and know: the section `run` of the user's own config and of a
 * project's. Each line knows where it stands, so that `run --explain` can name it.
 */

/** The profiles that are built in: of agents, and of families of tools. */
export const PROFILE_NAMES = [
  "claude",
  "codex",
  "gemini",
  "opencode",
  "goose",
  "aider",
  "node",
  "python",
  "rust",
  "go",
] as const;
export type ProfileName = (typeof PROFILE_NAMES)[number];

/** Sockets of the host that have a name of their own in a policy. */
export const SOCKET_NAMES = ["ssh_agent", "gpg_agent", "docker", "wayland"] as const;
export type SocketName = (typeof SOCKET_NAMES)[number];

/** Which plans share a cache: all of the user's, or those over the same resources. */
export const CACHE_SCOPES = ["user", "project"] as const;
export type CacheScope = (typeof CACHE_SCOPES)[number];

/** What commands can reach: all that their user can, nothing, or what a list names. */
export const NETWORK_MODES = ["open", "none", "allow"] as const;
export type NetworkMode = (typeof NETWORK_MODES)[number];

/** One entry of a policy. */
export interface PolicyLine {
  readonly value: string;
  /** "drydock.yaml:4:7" with its folder, or "the profile claude". */
  readonly from: string;
}

/** A variable that a policy sets. Its value may be a secret: it is never shown. */
export interface PolicyVariable extends PolicyLine {
  readonly name: string;
}

/** A limit of commands, in the unit of `Limits`. */
export interface LimitLine extends PolicyLine {
  readonly name: LimitName;
  readonly most: number;
}

/** What one file or profile says. An absent list says nothing; an empty one says "none". */
export interface PolicyLayer {
  /** Whose word it is. A project's can take away from what the user's allow, and add nothing. */
  readonly owner: "user" | "project";
  readonly profiles?: readonly ProfileName[];
  readonly read: RulePair;
  /** Folders of the home that commands change for good. */
  readonly persist?: readonly PolicyLine[];
  /** Files of the home that commands replace for good, when they have ended. */
  readonly writeBack?: readonly PolicyLine[];
  /** Whether commands get a home of the plan's own, with nothing of the user's but what a policy names. */
  readonly ownHome?: { readonly isOn: boolean; readonly from: string };
  /** Folders of the home of which commands see one of Drydock's own, which plans share. */
  readonly caches?: readonly PolicyLine[];
  readonly cacheScope?: PolicyLine & { readonly value: CacheScope };
  /** How many bytes the shared caches may hold together. */
  readonly cacheLimit?: PolicyLine & { readonly bytes: number };
  /** What lands only with the user's word: `[RESOURCE:]PATTERN` each. */
  readonly protect?: readonly PolicyLine[];
  /** The most that a command may use. */
  readonly limits?: readonly LimitLine[];
  /** Sockets that commands can reach, by name or by path, and those that they can't though others say so. */
  readonly sockets: { readonly allow: readonly PolicyLine[]; readonly deny: readonly PolicyLine[] };
  readonly variables: RulePair & { readonly set: readonly PolicyVariable[] };
  readonly network?: NetworkLines;
  /** Ports of this machine that lead to commands with a network of their own: `[HOST:]PORT[:INSIDE]` each. */
  readonly ports?: readonly PolicyLine[];
  /** Whether commands can reach the servers of databases that their plan holds, past the plan. */
  readonly databases?: { readonly isOn: boolean; readonly from: string };
  /** Whether commands have a channel to Drydock. */
  readonly channel?: { readonly isOn: boolean; readonly from: string };
  /** What a profile's program must reach. It counts only if the user allows no more than some names. */
  readonly needs?: readonly PolicyLine[];
}

/** What one file says about the network. */
export interface NetworkLines {
  readonly mode: NetworkMode;
  readonly from: string;
  /** What commands can reach, with the mode `allow`. */
  readonly allow?: readonly PolicyLine[];
}

/** Of all lines that match, the most specific counts; of two alike, `deny`. */
export interface RulePair {
  readonly deny: readonly PolicyLine[];
  /** Absent: everything that no line denies. */
  readonly allow?: readonly PolicyLine[];
}

/** A server that a command asked for and was not allowed to reach. */
export type DeniedRequest = {
  /** Its name or address, and its port. */
  readonly destination: string;
  /** Where the name leads, if not the name but this address is not allowed. */
  readonly address?: string;
  /** How often it was asked for. */
  readonly times: number;
};
