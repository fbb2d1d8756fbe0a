import type { RecoveryReport } from "../commit/recovery.ts";
import { messageOf } from "../core/errors/errors.ts";
import type { ConfigRemedy, Notice } from "../core/values/notice.ts";
import type { Services, ServicesOptions } from "../services.ts";
import { ShortLivedObjects } from "../system/process/short-lived-objects.ts";
import type { CommandContext } from "./command-context.ts";
import { OWN_CONFIG } from "./command-hints.ts";
import { EXIT } from "./exit-codes.ts";
import { Interruption } from "./interruption.ts";
import { attentionLine } from "./render/plan/attention-line.ts";
import { oneLine } from "./terminal/printable.ts";

/** Opens Drydock for a command that only reads. A signal ends the process at once. */
export async function openToRead<T>(
  context: CommandContext,
  work: (drydock: Services) => Promise<T>,
): Promise<T> {
  return whileOpen(context, {}, work);
}

/**
 * Opens Drydock for a command that changes something: a signal stops it cleanly. `plan` is the plan as the
 * user named it, if any.
 */
export async function openToChange<T>(
  context: CommandContext,
  plan: string | undefined,
  work: (drydock: Services, signal: AbortSignal, interruption: Interruption) => Promise<T>,
  how: Pick<ServicesOptions, "makesRoom" | "isHostService"> = {},
): Promise<T> {
  using interruption = new Interruption((line) => context.output.notice(line));
  context.interrupted = interruption.signal;
  // Awaited, because the interruption must stay in scope until the work is over.
  const options = { signal: interruption.signal, ...how };
  return await whileOpen(context, options, async (drydock) => {
    try {
      return await work(drydock, interruption.signal, interruption);
    } catch (thrown) {
      if (isInDoubt(plan, drydock.recovery)) context.exitWith(EXIT.attention);
      throw thrown;
    }
  });
}

async function whileOpen<T>(
  context: CommandContext,
  how: Pick<ServicesOptions, "signal" | "makesRoom" | "isHostService">,
  work: (drydock: Services) => Promise<T>,
): Promise<T> {
  const { output, options } = context;
  const channel = channelOf(context);
  if (channel !== undefined) {
    const { insideServices } = await import("../serve/channel/inside-services.ts");
    return await work(insideServices(channel));
  }
  using objects = new ShortLivedObjects();
  // Loaded late: help and usage errors do without it.
  const { openServices } = await import("../runtime.ts");
  const drydock = await openServices({
    ...(options.stateDir === undefined ? {} : { stateDir: options.stateDir }),
    ...(options.config === undefined ? {} : { config: options.config }),
    ...(options.local === true && { local: true }),
    ...how,
    cwd: context.cwd,
    environment: context.environment,
    command: context.command,
    onProgress: (progress) => {
      objects.expect(progress.total ?? progress.done);
      output.progress.update(progress);
    },
    onNotice: (notice) => output.notice(oneLine(noticeLine(notice))),
  });
  context.hasOpened = true;
  try {
    // Recovery may have met another writer's change. The user of this command has to hear of it, whatever the
    // command is.
    const { finished, undone } = drydock.recovery;
    for (const attention of [...finished, ...undone].flatMap((plan) => plan.attention)) {
      output.notice(attentionLine(attention, output.errorStyles));
    }
    return await work(drydock);
  } finally {
    output.progress.clear();
    await close(drydock, context);
  }
}

/**
 * The channel by which a command inside a plan reaches Drydock, unless it names a state of its own: that of
 * the user is not to be seen there.
 */
export function channelOf({ options, environment }: CommandContext): string | undefined {
  const { DRYDOCK_SOCKET: socket, DRYDOCK_STATE_DIR: state } = environment;
  return options.stateDir === undefined && state === undefined ? socket || undefined : undefined;
}

/**
 * Recovery notices begin with their kind; those of a config, of weaker walls and of the network end with what
 * to do.
 */
function noticeLine(notice: Notice): string {
  const { kind, message } = notice;
  if (kind === "ignored-config") return `${message}; ${configRemedy(notice.remedy, notice.file)}`;
  if (kind === "weaker") return `${message} 'drydock doctor' says what helps.`;
  if (kind === "denied") return `${message} --network allow=NAME, or run.network.allow, allows more.`;
  return kind === "recovered" || kind === "pending" ? `${kind}: ${message}` : message;
}

function configRemedy(remedy: ConfigRemedy, file: string): string {
  // Only a path that needs no quoting in a shell is worth copying. Without one, the command takes the nearest
  // config, which is this one.
  const trust = `run 'drydock trust${/^[\w./@%+=:,-]+$/.test(file) ? ` ${file}` : ""}'`;
  if (remedy === "trust") return `${trust} to use it`;
  if (remedy === "trust-again") return `${trust} to use it as it is now`;
  if (remedy === "repair") return `${trust} when that is repaired`;
  return remedy === "remove" ? "remove or rename it" : OWN_CONFIG;
}

/** The command has written its results by now, so a failed close is only a warning. */
async function close(drydock: Services, { output }: CommandContext): Promise<void> {
  try {
    await drydock.close();
  } catch (thrown) {
    output.warning(`Drydock's state could not be closed: ${messageOf(thrown)}`);
  }
}

/** Whether the plan that the user named is in doubt after a crash. */
function isInDoubt(plan: string | undefined, { pending }: RecoveryReport): boolean {
  if (plan === undefined || plan === "") return false;
  return pending.some(
    ({ inDoubt, planId, planName }) =>
      inDoubt && (planName === plan || planId.startsWith(plan.toUpperCase())),
  );
}
