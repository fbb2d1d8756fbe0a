/** What may be done on the streams of a command besides writing lines. */
export interface TerminalFeatures {
  /** Escape sequences for colour on stdout. */
  readonly colour: boolean;
  /** The same on stderr. */
  readonly errorColour: boolean;
  /** A bar on stderr that is drawn over and over. */
  readonly progress: boolean;
  /** stdout is a terminal: what it shows must be harmless there. */
  readonly interactive: boolean;
}

/**
 * Decides by what the streams are and what the environment asks for. A variable that is empty counts as not
 * set.
 */
export function terminalFeatures(
  streams: { readonly stdoutIsTerminal: boolean; readonly stderrIsTerminal: boolean },
  environment: { readonly [name: string]: string | undefined },
): TerminalFeatures {
  const { NO_COLOR = "", CI = "", TERM = "" } = environment;
  const able = CI === "" && TERM !== "dumb";
  const colour = able && NO_COLOR === "";
  return {
    colour: colour && streams.stdoutIsTerminal,
    errorColour: colour && streams.stderrIsTerminal,
    progress: able && streams.stderrIsTerminal,
    interactive: streams.stdoutIsTerminal,
  };
}
