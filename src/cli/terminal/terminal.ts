/** What the streams of a command allow besides plain lines. */
export interface TerminalFeatures {
  /** Escape sequences for colour on stdout. */
  readonly colour: boolean;
  /** Escape sequences for colour on stderr. */
  readonly errorColour: boolean;
  /** A bar on stderr that is redrawn in place. */
  readonly progress: boolean;
  /** Questions on stderr: a job of a CI that has a terminal would wait for an answer for ever. */
  readonly questions: boolean;
  /** stdout is a terminal, so output must be harmless there. */
  readonly interactive: boolean;
  /** Long output is shown in the user's pager. */
  readonly pages: boolean;
}

/** Decides by the kind of the streams and by the environment. An empty variable counts as unset. */
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
    questions: CI === "" && streams.stderrIsTerminal,
    interactive: streams.stdoutIsTerminal,
    pages: able && streams.stdoutIsTerminal,
  };
}
