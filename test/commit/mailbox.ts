import {
  appendFileSync,
  existsSync,
  mkdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import {
  type Change,
  type CommitResult,
  type DiffView,
  type PreparedCommit,
  type Resource,
  type SandboxRef,
  SandboxStateError,
  type StrategyContext,
  sandboxIdFor,
  type Transaction,
  type TwoPhaseCapabilities,
  type TwoPhaseSandboxStrategy,
  UsageError,
} from "../../src/strategy.ts";
import { removeFolder } from "../support/remove-folder.ts";

/** How a mailbox votes, and what a test wants to see or go wrong. */
export interface MailboxOptions {
  readonly name: string;
  readonly commit: "two-phase" | "one-phase";
  readonly undo: boolean;
  /** A file to which every call that takes part in a commit is appended. */
  readonly log?: string;
  /** Called with "NAME.METHOD" before, and with "NAME.METHOD-done" after, whatever changes the mailbox. */
  readonly trouble?: (step: string) => void | Promise<void>;
  /** How many changes it shows, where somebody wants to see many. */
  readonly changes?: number;
}

/**
 * A strategy as somebody else would write it, against the public contract alone: the resource is a file to
 * which letters are appended, the sandbox an outbox with letters that have not been sent.
 *
 *   outbox        what is to be sent
 *   sent          JSON: how long the mailbox was before our letters came, so that they can be taken back
 *   saved-ID      a checkpoint of the outbox
 */
export class Mailbox implements TwoPhaseSandboxStrategy {
  readonly name: string;
  /** It has all methods; the options say which of them count. */
  readonly capabilities: TwoPhaseCapabilities;
  readonly #context: StrategyContext;
  readonly #options: MailboxOptions;

  constructor(context: StrategyContext, options: MailboxOptions) {
    this.name = options.name;
    this.capabilities = {
      commit: options.commit as "two-phase",
      undo: options.undo,
      strength: 1,
      resourceTypes: ["mailbox"],
    };
    this.#context = context;
    this.#options = options;
  }

  async create(planId: string, resource: Resource): Promise<SandboxRef> {
    const sandboxId = sandboxIdFor(planId, resource.id);
    const folder = join(this.#context.stateDir, "outboxes", sandboxId);
    if (existsSync(join(folder, "outbox")))
      throw new SandboxStateError(`${sandboxId} is there already.`, { from: "CREATED", to: "PENDING" });
    const metadata = { folder, mailbox: resource.location };
    const ref: SandboxRef = { sandboxId, planId, resourceId: resource.id, strategyName: this.name, metadata };
    await this.#context.recordIntent(ref, [{ kind: "folder", location: folder }]);
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, "outbox"), "");
    return ref;
  }

  async read(ref: SandboxRef, path: string): Promise<Uint8Array> {
    assertItself(path);
    return Buffer.concat([readFileSync(mailboxOf(ref)), readFileSync(fileOf(ref, "outbox"))]);
  }

  async write(ref: SandboxRef, path: string, bytes: Uint8Array): Promise<Change> {
    assertItself(path);
    appendFileSync(fileOf(ref, "outbox"), bytes);
    return { path: ".", operation: "modified", kind: "object" };
  }

  async diff(ref: SandboxRef): Promise<DiffView> {
    const isEmpty = !existsSync(fileOf(ref, "outbox")) || statSync(fileOf(ref, "outbox")).size === 0;
    const letter = { operation: "modified", kind: "object" } as const;
    const many = Array.from({ length: this.#options.changes ?? 0 }, (_, at) => ({
      ...letter,
      path: `letter-${at}`,
    }));
    return { changes: isEmpty ? many : [{ ...letter, path: "." }, ...many] };
  }

  async commit(ref: SandboxRef): Promise<CommitResult> {
    return await this.#step("commit", () => {
      const letters = readFileSync(fileOf(ref, "outbox"));
      const length = statSync(mailboxOf(ref)).size;
      if (this.capabilities.undo === true) writeFileSync(fileOf(ref, "sent"), JSON.stringify({ length }));
      this.#context.failpoint("mailbox.send");
      appendFileSync(mailboxOf(ref), letters);
      this.#context.failpoint("mailbox.sent");
      writeFileSync(fileOf(ref, "outbox"), "");
      return { changes: letters.length === 0 ? 0 : 1, attention: [] };
    });
  }

  async rollback(ref: SandboxRef): Promise<void> {
    await this.#step("rollback", () => {
      if (existsSync(fileOf(ref, "sent"))) truncateSync(mailboxOf(ref), lengthBefore(ref));
      rmSync(fileOf(ref, "sent"), { force: true });
      if (existsSync(fileOf(ref, "outbox"))) writeFileSync(fileOf(ref, "outbox"), "");
      else removeFolder(folderOf(ref));
    });
  }

  async checkpoint(ref: SandboxRef, checkpointId: string): Promise<undefined> {
    await this.#step("checkpoint", () =>
      writeFileSync(fileOf(ref, `saved-${checkpointId}`), readFileSync(fileOf(ref, "outbox"))),
    );
  }

  async restoreCheckpoint(ref: SandboxRef, checkpointId: string): Promise<void> {
    await this.#step("restoreCheckpoint", () =>
      writeFileSync(fileOf(ref, "outbox"), readFileSync(fileOf(ref, `saved-${checkpointId}`))),
    );
  }

  /** What an undo needs stays. */
  async cleanup(ref: SandboxRef): Promise<void> {
    await this.#step("cleanup", () => {
      const sent = existsSync(fileOf(ref, "sent")) ? readFileSync(fileOf(ref, "sent")) : undefined;
      removeFolder(folderOf(ref));
      if (sent === undefined) return;
      mkdirSync(folderOf(ref), { recursive: true });
      writeFileSync(fileOf(ref, "sent"), sent);
    });
  }

  async prepare(ref: SandboxRef, transaction: Transaction): Promise<PreparedCommit | null> {
    return await this.#step("prepare", () => {
      if (transaction.undoes !== undefined) return transaction.undoes.prepared;
      const letters = readFileSync(fileOf(ref, "outbox"), "utf8");
      if (letters === "") return null;
      return { changes: 1, data: { letters, length: statSync(mailboxOf(ref)).size } };
    });
  }

  async commitPrepared(
    ref: SandboxRef,
    transaction: Transaction,
    prepared: PreparedCommit,
  ): Promise<CommitResult> {
    return await this.#step("commitPrepared", () => {
      truncateSync(mailboxOf(ref), Number(prepared.data["length"]));
      if (transaction.direction === "commit")
        appendFileSync(mailboxOf(ref), String(prepared.data["letters"]));
      return { changes: 1, attention: [] };
    });
  }

  async rollbackPrepared(): Promise<undefined> {
    await this.#step("rollbackPrepared", () => undefined);
  }

  async #step<T>(method: string, action: () => T): Promise<T> {
    const step = `${this.name}.${method}`;
    if (this.#options.log !== undefined) appendFileSync(this.#options.log, `${step}\n`);
    await this.#options.trouble?.(step);
    const result = action();
    await this.#options.trouble?.(`${step}-done`);
    return result;
  }
}

function assertItself(path: string): void {
  if (path !== ".") throw new UsageError(`A mailbox has no path '${path}'.`, { hint: "Use '.'." });
}

function folderOf(ref: SandboxRef): string {
  return String(ref.metadata["folder"]);
}

function fileOf(ref: SandboxRef, name: string): string {
  return join(folderOf(ref), name);
}

function mailboxOf(ref: SandboxRef): string {
  return String(ref.metadata["mailbox"]);
}

function lengthBefore(ref: SandboxRef): number {
  return Number((JSON.parse(readFileSync(fileOf(ref, "sent"), "utf8")) as { length: number }).length);
}
