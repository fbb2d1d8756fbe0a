import { existsSync, mkdirSync, mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { CreatePlanOptions, PlanView } from "../../src/index.ts";
import { openServices } from "../../src/runtime.ts";
import type { Services, ServicesOptions } from "../../src/services.ts";
import { removeFolder } from "../support/remove-folder.ts";
import { Mailbox, type MailboxOptions } from "./mailbox.ts";

/** Where a workshop is, if that matters. */
export interface WorkshopPlace {
  /** A folder that its owner removes. */
  readonly parent: string;
  /** Makes an original. Default: a folder. */
  readonly makeOriginal?: (path: string) => void;
}

/**
 * Places for one test: a state directory, folders `a` and `b` with a file each, and mailboxes. All of it goes
 * at the end.
 */
export class Workshop {
  readonly base: string;
  readonly stateDir: string;
  readonly log: string;
  readonly #isOurs: boolean;
  readonly #open: Services[] = [];

  constructor(place?: WorkshopPlace) {
    this.base = mkdtempSync(join(place?.parent ?? tmpdir(), "drydock-commit-"));
    this.stateDir = join(this.base, "state");
    this.log = join(this.base, "calls");
    this.#isOurs = place === undefined;
    const make = place?.makeOriginal ?? mkdirSync;
    for (const folder of ["a", "b"]) {
      make(join(this.base, folder));
      writeFileSync(join(this.base, folder, "old.txt"), `old of ${folder}\n`);
    }
    for (const mailbox of ["mail", "mail2", "mail3"]) writeFileSync(join(this.base, mailbox), "Dear all,\n");
  }

  at(path: string): string {
    return join(this.base, path);
  }

  /** The text of a file below the base; undefined if it is not there. */
  text(path: string): string | undefined {
    return existsSync(this.at(path)) ? readFileSync(this.at(path), "utf8") : undefined;
  }

  write(path: string, text: string): void {
    writeFileSync(this.at(path), text);
  }

  /** The calls that mailboxes got, in order. */
  calls(): string[] {
    return this.text("calls")?.trim().split("\n") ?? [];
  }

  async open(mailboxes: readonly MailboxOptions[] = [], options: ServicesOptions = {}): Promise<Services> {
    const drydock = await openServices({
      stateDir: this.stateDir,
      cwd: this.base,
      environment: {},
      strategies: mailboxes.map((mailbox) => (context) => new Mailbox(context, mailbox)),
      ...options,
    });
    this.#open.push(drydock);
    return drydock;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const drydock of this.#open) await drydock.close();
    if (this.#isOurs) removeFolder(this.base);
  }
}

/** A mailbox whose letters can be taken back. */
export function reversible(more: Partial<MailboxOptions> = {}): MailboxOptions {
  return { name: "reversible_mail", commit: "one-phase", undo: true, ...more };
}

/** A mailbox whose letters are gone once they are sent. */
export function irreversible(more: Partial<MailboxOptions> = {}): MailboxOptions {
  return { name: "irreversible_mail", commit: "one-phase", undo: false, ...more };
}

/** A mailbox that can be prepared. */
export function twoPhase(more: Partial<MailboxOptions> = {}): MailboxOptions {
  return { name: "two_phase_mail", commit: "two-phase", undo: true, ...more };
}

/** The resource that a mailbox file is. */
export function letterbox(location: string, strategy: string): CreatePlanOptions["resources"][number] {
  return { location, type: "mailbox", strategy };
}

/** A plan over folders and mailboxes with a change in each: a file changed and one added, or a letter. */
export async function planWithWork(
  drydock: Services,
  resources: CreatePlanOptions["resources"],
  options: Omit<CreatePlanOptions, "resources"> = {},
): Promise<PlanView> {
  const plan = await drydock.plans.create({ resources, ...options });
  for (const { name, type } of plan.resources) {
    if (type === "mailbox") await drydock.plans.write(plan.id, name, ".", Buffer.from("a letter\n"));
    else {
      await drydock.plans.write(plan.id, name, "old.txt", Buffer.from(`new of ${name}\n`));
      await drydock.plans.write(plan.id, name, "added.txt", Buffer.from("added\n"));
    }
  }
  return plan;
}
