import { text } from "node:stream/consumers";
import { DrydockError, messageOf } from "../core/errors/errors.ts";
import { plainError } from "../core/errors/revive-error.ts";
import { CommandKeeping } from "../run/detached/command-keeping.ts";
import type { DetachedStart, DetachedWord } from "../run/detached/detached-start.ts";
import { USUAL_SIZE, withTerminal } from "../run/detached/start-keeping.ts";
import { openServices } from "../runtime.ts";
import { StandardStream } from "../system/terminal/standard-stream.ts";

/**
 * The process that keeps a detached command which a program started (run/detached/detached-start.ts). It
 * leads a session of its own, so it outlives that program, and when it is killed, so is the command. A signal
 * that asks it to end asks the command.
 */
const ENDING = ["SIGTERM", "SIGINT", "SIGHUP"] as const;

async function main(): Promise<void> {
  const { place, planId, request } = JSON.parse(await text(process.stdin)) as DetachedStart;
  const { terminal: size = USUAL_SIZE, command } = request;
  const keeping = new CommandKeeping({ command, size, onUp: (up) => say({ up }, "ready\n") });
  for (const signal of ENDING) process.on(signal, () => keeping.stop());
  const services = await openServices({
    ...{ ...place, environment: withTerminal(place.environment), command: "drydock detached" },
    onNotice: (notice) => (keeping.isUp ? keeping.notice(notice.message) : say({ notice })),
  });
  const { operations } = services;
  try {
    const { signal } = keeping;
    await using spawned = await operations.run({ operation: "detach", planId, signal }, () =>
      services.spawn(planId, { ...request, terminal: size, signal }, { detached: true }),
    );
    const { exitCode } = await keeping.talk(spawned, services);
    await keeping.end(exitCode);
  } catch (thrown) {
    if (!keeping.isUp) throw thrown;
    keeping.notice(messageOf(thrown));
    await keeping.end(1);
  } finally {
    await services.close();
  }
}

function say(word: DetachedWord, ready = ""): void {
  new StandardStream(1).write(Buffer.from(`${JSON.stringify(word)}\n${ready}`));
}

/** What keeps the command from starting is its caller's to hear. */
main().then(
  () => process.exit(),
  (thrown: unknown) => {
    const isOurs = thrown instanceof DrydockError;
    say({ failed: isOurs ? plainError(thrown) : { name: "Error", message: messageOf(thrown) } });
    process.exit(1);
  },
);
