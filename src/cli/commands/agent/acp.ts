import { once } from "node:events";
import type { Writable } from "node:stream";
import { pipeline } from "node:stream/promises";
import type { Command } from "commander";
import { UsageError } from "../../../core/errors/errors.ts";
import type { SpawnedCommand } from "../../../run/spawn.ts";
import type { CommandContext } from "../../command-context.ts";
import { assertCommand } from "../../options/inner-command.ts";
import { addRunOptions, runInPlan } from "../run/run-in-plan.ts";
import type { RunOptions } from "../run/run-options.ts";
import { toAgent, toEditor } from "./acp-filter.ts";

/** `drydock acp [options] [--] AGENT…`: `drydock run` for an agent that an editor talks to. */
export function define(command: Command, context: CommandContext): void {
  addRunOptions(command.usage("[options] [--] AGENT…").passThroughOptions())
    .argument("[AGENT...]", "an agent that speaks the Agent Client Protocol")
    .action(async (agent: readonly string[], options: RunOptions) => {
      if (context.options.json)
        throw new UsageError("Standard output belongs to the agent here, so there can be no document.", {
          hint: "Leave --json out; 'drydock plan show --json' shows the plan afterwards.",
        });
      const keep = options.apply !== true && options.discard !== true;
      await runInPlan(context, assertCommand(agent, "drydock acp AGENT …"), { ...options, keep }, { talk });
    });
}

/** Lets the editor and the agent talk until the agent has nothing more to say. */
async function talk({ stdin, stdout, stderr, kill }: SpawnedCommand): Promise<void> {
  const failed = Promise.withResolvers<never>();
  const asking = passOn(toAgent(process.stdin), stdin).catch(failed.reject);
  const refuse = async (answer: Uint8Array): Promise<void> => await written(stdin, answer);
  try {
    const heard = (output: AsyncIterable<Uint8Array>) => toEditor(output, refuse);
    const answering = [
      pipeline(stdout, heard, process.stdout, { end: false }),
      pipeline(stderr, process.stderr, { end: false }),
    ];
    await Promise.race([Promise.all(answering), failed.promise]);
  } catch (thrown) {
    // The editor is gone, or one of them does not speak the protocol.
    kill();
    throw thrown;
  } finally {
    // What the editor may still say has no reader.
    process.stdin.destroy();
    await asking;
  }
}

async function passOn(lines: AsyncIterable<Uint8Array>, to: Writable): Promise<void> {
  for await (const line of lines) await written(to, line);
  to.end();
}

/** Writes a line, and waits as long as the reader is behind. A reader that reads no more is not told. */
async function written(to: Writable, line: Uint8Array): Promise<void> {
  if (!to.writable || to.write(line)) return;
  const done = new AbortController();
  const { signal } = done;
  try {
    await Promise.race([once(to, "drain", { signal }), once(to, "close", { signal })]);
  } catch (thrown) {
    if (to.writable) throw thrown;
  } finally {
    done.abort();
  }
}
