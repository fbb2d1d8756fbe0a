import { dirname } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import {
  InterruptedError,
  messageOf,
  SandboxStateError,
  UnsupportedError,
} from "../../../core/errors/errors.ts";
import { Folder } from "../../../system/calls/folder.ts";
import { closeFile } from "../../../system/calls/handles.ts";
import { readTextFile } from "../../../system/data/text-files.ts";
import { writeWhole } from "../../../system/data/whole-file.ts";
import { failpoint, passFailpoint } from "../../../system/failpoints.ts";
import { milliseconds } from "../../../system/milliseconds.ts";
import { runProcess } from "../../../system/process/run-process.ts";
import { type Program, startProcess } from "../../../system/process/start-process.ts";
import { randomBytes } from "../../../system/random-bytes.ts";
import type { ServerLogin } from "../server-database.ts";
import { leaderOf, removeDeadLock, type ServerProcesses } from "./clone-processes.ts";
import { withoutNetwork } from "./private-network.ts";

/**
 * # The server of a clone
 *
 * In its folder:
 *
 * - `admin`: the password of the only superuser, which no client of a plan has, its name, and the password of
 *   the plan's user: a line each.
 * - `data/`: the data directory.
 * - `data.log`: what the server says.
 *
 * The server listens on no network and has none; clients come by a socket in a folder of their own, which
 * only the user of Drydock, and commands that are shown it, can enter. Commands without namespaces could
 * enter it too, so the plan's user needs a password, and no other account can log in. No account but the
 * superuser may read files, run programs or make accounts: the server is outside of the walls of a plan.
 *
 * Whoever needs the server starts it, if it does not run: after a crash, a restart of the machine, or its end
 * by anybody. Its processes are found by their current folder, which is the data directory.
 */
const POINTS = {
  admin: failpoint("clone.admin"),
  init: failpoint("clone.init"),
  start: failpoint("clone.start"),
  log: failpoint("clone.log"),
};
const ADMIN = "admin";
const LARGEST = 64 << 20;
const INIT_MS = 5 * 60_000;
/** Longer than a server needs to recover from a crash of a large clone. */
const START_MS = 10 * 60_000;
const LOOK_AGAIN_MS = 20;
/** The longest name of a socket, without the zero at its end. */
const LONGEST = 107;
export const CLONE_PATIENCE_MS = 10_000;
/** The data directory of the clone itself. */
export const CLONE_DATA = "data";

/** Where a clone's server is, and where its clients find it. */
export interface ClonePlace {
  /** The folder of the server. */
  readonly folder: string;
  /** The folder of its socket. */
  readonly sockets: string;
}

/** What a server is called by its own superuser, and what the plan's user needs. */
export interface CloneAccounts {
  readonly user: string;
  readonly password: string;
  /** The password of the plan's user. */
  readonly client: string;
}

export abstract class CloneServer<Connection extends { close(): Promise<void> }> {
  readonly place: ClonePlace;
  /** The name of the data directory in the folder. */
  protected readonly dataName: string;
  readonly #signal: AbortSignal | undefined;

  constructor(place: ClonePlace, signal: AbortSignal | undefined, dataName = CLONE_DATA) {
    this.place = place;
    this.dataName = dataName;
    this.#signal = signal;
  }

  protected abstract readonly processes: ServerProcesses;
  /** The path of the socket, whose length is limited. */
  protected abstract readonly socket: string;
  /** What a server says that ends only because an earlier one is not gone yet. */
  protected abstract readonly notYet: RegExp;
  /** The program that makes an empty data directory. */
  protected abstract initProgram(accounts: CloneAccounts): Program;
  /** The server as a program that stays. */
  protected abstract program(): Program;
  /** Comes in as the superuser, to see whether the server takes connections. */
  protected abstract greet(): Promise<Connection>;

  get data(): string {
    return `${this.place.folder}/${this.dataName}`;
  }

  /** The password of the plan's user. */
  get clientPassword(): string {
    return this.accounts.client;
  }

  protected get accounts(): CloneAccounts {
    const file = readTextFile(`${this.place.folder}/${ADMIN}`, LARGEST);
    const [password, user, client] = file?.text.split("\n") ?? [];
    if (password === undefined || user === undefined || client === undefined)
      throw new SandboxStateError(`The clone in ${this.place.folder} is damaged: ${ADMIN} is missing.`, {
        from: "ACTIVE",
        to: "ACTIVE",
        hint: "Cancel the plan and make a new one.",
      });
    return { user, password, client };
  }

  /** The file that begins with the superuser's password. */
  protected get passwordFile(): string {
    return `${this.place.folder}/${ADMIN}`;
  }

  /** Makes an empty data directory, and the accounts. */
  protected async makeData(): Promise<void> {
    this.#assertShort();
    using folder = Folder.open(this.place.folder);
    const secret = () => randomBytes(24).toString("hex");
    const accounts = {
      user: `drydock_${randomBytes(6).toString("hex")}`,
      password: secret(),
      client: secret(),
    };
    const lines = [accounts.password, accounts.user, accounts.client, ""].join("\n");
    writeWhole(POINTS.admin, folder, ADMIN, Buffer.from(lines));
    passFailpoint(POINTS.init);
    const { code, stdout, stderr, tookTooLong } = await runProcess(this.#alone(this.initProgram(accounts)), {
      limitMs: INIT_MS,
      ...(this.#signal !== undefined && { signal: this.#signal }),
    });
    if (code === 0) return;
    throw notStarted(tookTooLong ? "making its files takes too long" : `${stdout}\n${stderr}`);
  }

  /** Starts the server unless it runs, and waits until it takes connections. */
  async start(): Promise<void> {
    if (await this.#answers()) return;
    const deadline = milliseconds() + START_MS;
    while (!(await this.#started(deadline))) if (milliseconds() > deadline) throw notStarted(this.#said());
  }

  /** How the superuser logs in by this URL. */
  protected loginBy(location: string): ServerLogin {
    return { location, secret: this.accounts.password, patienceMs: CLONE_PATIENCE_MS };
  }

  /** Starts a process; false if it ended, because a process of an earlier server was not gone yet. */
  async #started(deadline: number): Promise<boolean> {
    removeDeadLock(this.data, this.processes);
    const child = this.#spawn();
    let hasEnded = false;
    const end = () => {
      hasEnded = true;
    };
    child.once("exit", end);
    child.once("error", end);
    try {
      while (!(await this.#answers())) {
        if (this.#signal?.aborted === true) throw new InterruptedError();
        if (milliseconds() > deadline) throw notStarted(this.#said());
        // Another process may have started it, or one that was killed still has its memory.
        if (hasEnded && leaderOf(this.data, this.processes) === undefined) {
          if (!this.notYet.test(this.#said())) throw notStarted(this.#said());
          await sleep(LOOK_AGAIN_MS * 5);
          return false;
        }
        await sleep(LOOK_AGAIN_MS);
      }
      return true;
    } finally {
      child.unref();
    }
  }

  #spawn() {
    using folder = Folder.open(this.place.folder);
    if (folder.facts(this.#log) !== undefined) folder.removeFile(POINTS.log, this.#log);
    const log = folder.createFile(POINTS.log, this.#log, 0o600);
    try {
      passFailpoint(POINTS.start);
      return startProcess(this.#alone(this.program()), ["ignore", log, log]);
    } finally {
      closeFile(log);
    }
  }

  /** A program of the server, which reaches nothing but its own folders and those of its programs. */
  #alone(program: Program): Program {
    const { folder, sockets } = this.place;
    return withoutNetwork(program, [folder, sockets, dirname(dirname(program.file))]);
  }

  async #answers(): Promise<boolean> {
    if (leaderOf(this.data, this.processes) === undefined) return false;
    try {
      const connection = await this.greet();
      await connection.close();
      return true;
    } catch (thrown) {
      // It is starting, or ending.
      if (/can't be reached/.test(messageOf(thrown))) return false;
      throw thrown;
    }
  }

  get #log(): string {
    return `${this.dataName}.log`;
  }

  #said(): string {
    return readTextFile(`${this.place.folder}/${this.#log}`, LARGEST)?.bytes.toString() ?? "";
  }

  #assertShort(): void {
    if (Buffer.byteLength(this.socket) <= LONGEST) return;
    throw new UnsupportedError(`A server can't have the socket ${this.socket}: its name is too long.`, {
      hint: `Choose a state directory with a shorter path; the name of a socket has at most ${LONGEST} bytes.`,
      code: "NO_PATH",
    });
  }
}

function notStarted(said: string): UnsupportedError {
  const why = said.trim().split("\n").slice(-5).join(" ") || "it ended at once";
  return new UnsupportedError(`The server of the clone does not start: ${why}`, {
    hint: "Mend the cause and try again.",
  });
}
