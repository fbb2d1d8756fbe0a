import { Interruption } from "../../src/cli/interruption.ts";
import { DrydockError } from "../../src/index.ts";
import { openServices } from "../../src/runtime.ts";
import type { ServicesOptions } from "../../src/services.ts";
import { Mailbox, type MailboxOptions } from "../commit/mailbox.ts";

/**
 * What a process of its own is to do: open the state directory, then make these calls, one after the other.
 */
export interface ChildTask {
  readonly stateDir: string;
  readonly command?: string;
  readonly config?: string;
  readonly mailboxes?: readonly MailboxOptions[];
  readonly calls: readonly ChildCall[];
}

/**
 * A method of `plans`; "recover" and "settle" are Drydock's own, "checkpoint" and "restore" of its
 * checkpoints. Bytes are given as text.
 */
export type ChildCall = readonly [method: string, ...args: readonly unknown[]];

/** One line for each call, the opening being the first. */
export type ChildAnswer = { readonly result: unknown } | { readonly error: ChildError };

export interface ChildError {
  readonly name: string;
  readonly code: string;
  readonly message: string;
  readonly hint: string;
  readonly details: { readonly [key: string]: unknown };
}

async function main(task: ChildTask): Promise<void> {
  using interruption = new Interruption((line) => process.stderr.write(`${line}\n`));
  const options: ServicesOptions = {
    stateDir: task.stateDir,
    signal: interruption.signal,
    ...(task.command !== undefined && { command: task.command }),
    ...(task.config !== undefined && { config: task.config }),
    strategies: (task.mailboxes ?? []).map((mailbox) => (context) => new Mailbox(context, mailbox)),
  };
  const drydock = await openServices(options);
  say({ result: drydock.recovery });
  const own: { readonly [name: string]: ((...args: never[]) => Promise<unknown>) | undefined } = {
    recover: drydock.recover,
    settle: drydock.settle,
    checkpoint: drydock.checkpoints.checkpoint.bind(drydock.checkpoints),
    restore: drydock.checkpoints.restore.bind(drydock.checkpoints),
  };
  const plans = drydock.plans as unknown as {
    readonly [name: string]: (...args: unknown[]) => Promise<unknown>;
  };
  try {
    for (const [method, ...args] of task.calls) {
      if (method === "write") args.push(Buffer.from(String(args.pop())));
      try {
        const action = own[method];
        say({
          result: await (action === undefined ? plans[method]?.(...args) : action(...(args as never[]))),
        });
      } catch (thrown) {
        if (!(thrown instanceof DrydockError)) throw thrown;
        const { name, code, message, hint, details } = thrown;
        say({ error: { name, code, message, hint, details } });
      }
    }
  } finally {
    await drydock.close();
  }
}

function say(answer: ChildAnswer): void {
  process.stdout.write(`${JSON.stringify(answer)}\n`);
}

if (import.meta.main) await main(JSON.parse(process.argv[2] ?? "") as ChildTask);
