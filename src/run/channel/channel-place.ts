/** What the process of a channel is about. It gets this as one line of JSON at its standard input. */
export interface ChannelPlace {
  readonly planId: string;
  readonly stateDir: string;
  readonly config?: string;
  readonly cwd: string;
  readonly environment: { readonly [name: string]: string | undefined };
}

/** The descriptors that it inherits. It ends when its standard input does. */
export const CHANNEL_DESCRIPTORS = {
  /** The socket that listens. */
  listener: 3,
  /** The connection of the first caller. */
  first: 4,
} as const;
