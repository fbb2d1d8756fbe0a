import { UsageError } from "../../../core/errors/errors.ts";
import { object, optional, text } from "../../../core/values/shape.ts";

/**
 * What an agent tells its hooks: one JSON object on standard input. Only these of its fields matter here; the
 * names are those of Claude Code, which other agents took over.
 */
export interface HookEvent {
  readonly hook_event_name: string;
  /** Where the agent works. */
  readonly cwd: string;
  readonly session_id?: string;
  /** The name that the agent wants for a new worktree. */
  readonly name?: string;
  /** Where the worktree is that the agent gives back. */
  readonly worktree_path?: string;
}

/** What a hook did. `path` is a worktree that the agent asked for, and `note` is for the user. */
export interface HookResult {
  readonly outcome: "nothing" | "checkpointed" | "created" | "found" | "kept" | "cancelled";
  readonly planId?: string;
  readonly checkpoint?: string;
  readonly path?: string;
  readonly note?: string;
}

const EVENT = object<HookEvent>({
  hook_event_name: text,
  cwd: text,
  session_id: optional(text),
  name: optional(text),
  worktree_path: optional(text),
});

/** Prompts and answers are part of some events; none is longer. */
const MOST_BYTES = 64 << 20;

/** Reads an event to its end. */
export async function readEvent(input: AsyncIterable<Uint8Array>): Promise<HookEvent> {
  const pieces: Uint8Array[] = [];
  let length = 0;
  for await (const piece of input) {
    pieces.push(piece);
    length += piece.length;
    if (length > MOST_BYTES) throw noEvent(`it is longer than ${MOST_BYTES} bytes`);
  }
  const event = parsed(Buffer.concat(pieces).toString("utf8"));
  const problem = EVENT(event, "");
  if (problem !== undefined) throw noEvent(problem);
  return event as HookEvent;
}

function parsed(json: string): unknown {
  try {
    return JSON.parse(json);
  } catch (cause) {
    throw noEvent("it is no JSON", cause);
  }
}

/** The error for input that is no event. */
export function noEvent(why: string, cause?: unknown): UsageError {
  return new UsageError(`Standard input is no event of an agent: ${why}.`, {
    hint: "Let the agent call 'drydock hook': its settings of hooks say how.",
    cause,
  });
}
