import type { Command } from "commander";
import { UnsupportedError } from "../../../core/errors/errors.ts";
import { displayPath } from "../../../core/paths/byte-path.ts";
import type { Services } from "../../../services.ts";
import type { CommandContext } from "../../command-context.ts";
import { EXIT } from "../../exit-codes.ts";
import { channelOf, openToChange } from "../../open-for-command.ts";
import { type HookEvent, type HookResult, readEvent } from "./hook-event.ts";
import { checkpointTurn } from "./turn-checkpoint.ts";
import { createWorktree, endSession, removeWorktree } from "./worktrees.ts";

type Handler = (drydock: Services, event: HookEvent, home: string | undefined) => Promise<HookResult>;

/** What each event of an agent does. */
const EVENTS: { readonly [name: string]: Handler | undefined } = {
  Stop: checkpointTurn,
  SubagentStop: checkpointTurn,
  WorktreeCreate: createWorktree,
  WorktreeRemove: removeWorktree,
  SessionEnd: endSession,
};

/** `drydock hook < EVENT` */
export function define(command: Command, context: CommandContext): void {
  command.action(async () => {
    // Agents take exit code 2 of a hook as a veto, and may never stop then: no failure here ends with it.
    context.exitWith(EXIT.failed);
    const { note, ...result } = await handled(context, await readEvent(process.stdin));
    context.exitWith(EXIT.done);
    if (note !== undefined) context.output.notice(note);
    context.result(result, () => (result.path === undefined ? [] : [result.path]));
  });
}

async function handled(context: CommandContext, event: HookEvent): Promise<HookResult> {
  const { environment } = context;
  const handle = Object.hasOwn(EVENTS, event.hook_event_name) ? EVENTS[event.hook_event_name] : undefined;
  const around = environment["DRYDOCK_PLAN"];
  if (around !== undefined && handle === createWorktree)
    throw new UnsupportedError(
      `This agent runs inside of plan ${displayPath(around)}, and can't make another.`,
      {
        hint: "Start it without a worktree: all of its work is in that plan.",
      },
    );
  if (handle === undefined) return { outcome: "nothing" };
  // Inside of a plan there is no state: only its channel can save it.
  const isSaved = handle === checkpointTurn && channelOf(context) !== undefined;
  if (around !== undefined && !isSaved) return { outcome: "nothing" };
  return await openToChange(context, undefined, (drydock) => handle(drydock, event, environment["HOME"]));
}
