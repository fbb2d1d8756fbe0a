import { type Answer, type Call, deedOf } from "../../src/fleet/protocol/call.ts";
import { admit, noteBeforeLook, ran } from "../../src/fleet/protocol/gate.ts";
import type { Look } from "../../src/fleet/protocol/gate-checks.ts";
import { holdsOriginal, type Note, released, takenBackHere } from "../../src/fleet/protocol/note.ts";
import { type DirectoryState, type Registration, registered } from "../../src/fleet/protocol/registration.ts";
import type { Original } from "./original.ts";
import { Violation } from "./original.ts";
import type { Protocol } from "./protocol.ts";
import { SimulatedProcess, type Surroundings } from "./simulated-process.ts";

const POLL_MS = 2_000;
const UPKEEP_MS = 3_000;

/** What a host keeps on its disk. */
export interface Directory {
  readonly id: string;
  last: string | undefined;
  readonly asked: string[];
  count: number;
  readonly notes: Map<string, Note>;
}

export function newDirectory(id: string): Directory {
  return { id, last: undefined, asked: [], count: 0, notes: new Map() };
}

export function copyOfDirectory(directory: Directory): Directory {
  return { ...directory, asked: [...directory.asked], notes: new Map(directory.notes) };
}

/**
 * A host: takes calls for its originals, asks the gate, and does what that says. Its directory and its
 * originals outlive it.
 */
export class SimulatedHost extends SimulatedProcess {
  readonly name: string;
  originals: ReadonlyMap<string, Original>;
  directory: Directory;
  contracts: readonly number[] = [1];
  /** A person looks at a host that may not start. */
  refused: () => void = () => undefined;
  /** Its start was taken. */
  started: () => void = () => undefined;
  /** Hears of each call as it comes, before anything is noted of it, and when it has had its effect. */
  watch: (call: Call, moment: "comes" | "happened") => void = () => undefined;
  readonly #protocol: Protocol;
  #locks = new Map<string, (() => void)[]>();
  #memory = new Map<string, Note>();
  #count = 0;
  #registration: Registration | undefined;

  constructor(
    around: Surroundings,
    protocol: Protocol,
    facts: {
      readonly name: string;
      readonly originals: ReadonlyMap<string, Original>;
      readonly directory: Directory;
    },
  ) {
    super(around);
    this.#protocol = protocol;
    this.name = facts.name;
    this.originals = facts.originals;
    this.directory = facts.directory;
  }

  get notes(): ReadonlyMap<string, Note> {
    return this.#memory;
  }

  get isRegistered(): boolean {
    return this.#registration !== undefined;
  }

  start(): void {
    this.comeUp();
    this.#locks = new Map();
    this.#memory = new Map(this.directory.notes);
    this.#count = this.directory.count;
    this.#registration = undefined;
    const { id, last, asked } = this.directory;
    const earlier = last === undefined ? [...asked] : [last, ...asked];
    const again = this.#protocol.newStarts ? undefined : asked.at(-1);
    const start = again ?? `start ${this.around.dice.throw()}`;
    if (again === undefined) asked.push(start);
    this.#register({ directory: id, earlier, start, notes: this.#count });
  }

  die(): void {
    this.goDown();
    this.#registration = undefined;
  }

  ring(): void {
    this.later(1, () => this.#take());
  }

  #register(state: DirectoryState): void {
    this.ask(
      (database) => database.register(this.name, state),
      (result) => {
        if (result.was === "not-known") this.#register(state);
        else if (result.value === undefined) this.#begin(registered(state));
        else {
          this.die();
          this.refused();
        }
      },
    );
  }

  #begin(registration: Registration): void {
    this.directory.last = registration.start;
    this.directory.asked.length = 0;
    this.#registration = registration;
    this.started();
    this.#upkeep();
    this.#poll();
  }

  #poll(): void {
    this.#take();
    this.later(POLL_MS, () => this.#poll());
  }

  #take(): void {
    if (this.#registration === undefined) return;
    const from = this.#from();
    this.ask(
      (database) => database.take(this.name, from),
      (result) => {
        if (result.was === "not-known" || result.value === undefined) return;
        this.#handle(result.value);
        this.#take();
      },
    );
  }

  /** What every word of this host to the database carries. */
  #from(): Registration {
    return { ...(this.#registration as Registration), notes: this.#count };
  }

  #handle(call: Call): void {
    this.#locked(call.original, (unlock) => {
      this.watch(call, "comes");
      const first = noteBeforeLook(this.#noteOf(call), call);
      if (first !== undefined && this.#protocol.notesBeforeLook) this.#write(first);
      const holders = this.#holders(call);
      this.#look(call, holders, (look) => {
        if (look === undefined) return unlock();
        if (first !== undefined && !this.#protocol.notesBeforeLook) this.#write(first);
        this.#decide(call, { look, holders, isNotedFirst: first !== undefined }, unlock);
      });
    });
  }

  #look(
    of: { readonly work: string; readonly plan: string },
    holders: readonly Note[],
    then: (look: Look | undefined) => void,
  ): void {
    const from = this.#from();
    const works = holders.map(({ work }) => work);
    this.ask(
      (database) => database.look(this.name, from, { work: of.work, plan: of.plan, holders: works }),
      (result) => then(result.was === "known" ? result.value : undefined),
    );
  }

  #decide(
    call: Call,
    seen: { readonly look: Look; readonly holders: readonly Note[]; readonly isNotedFirst: boolean },
    unlock: () => void,
  ): void {
    const question = { call, note: this.#noteOf(call), contracts: this.contracts, ...seen };
    const admission = admit(question, this.#protocol.checks);
    if (admission.note !== undefined) this.#write(admission.note);
    if (admission.do === "answer") {
      unlock();
      this.#reply(call, admission.answer);
      return;
    }
    if (!this.contracts.includes(call.contract))
      throw new Violation(`${this.name} runs a call of another version`);
    this.#run(call, (answer) => {
      const end = ran(this.#noteOf(call) ?? admission.note, call, answer);
      this.#write(end.note);
      unlock();
      this.#reply(call, end.answer);
    });
  }

  #reply(call: Call, answer: Answer): void {
    const from = this.#from();
    this.ask(
      (database) => database.answer(this.name, from, call, answer),
      () => undefined,
    );
  }

  /** Runs a method of the strategy: it takes its time, and its effect comes somewhere on the way. */
  #run(call: Call, then: (answer: Answer) => void): void {
    const { dice, isHealed } = this.around;
    const takes = dice.chance(0.9) || isHealed ? dice.between(1, 100) : dice.between(100, 6_000);
    const fails = !isHealed && dice.chance(0.04);
    const rest = dice.between(0, takes);
    this.later(takes - rest, () => {
      const answer: Answer = fails ? { said: "failed", message: "no space left" } : this.#do(call);
      this.watch(call, "happened");
      this.later(rest, () => then(answer));
    });
  }

  #do(call: Call): Answer {
    const original = this.#original(call.original);
    switch (call.method) {
      case "prepare":
        original.prepare(call);
        return { said: "prepared", prepared: { changes: 1, data: {} } };
      case "commitPrepared":
        original.land(call);
        return { said: "committed", changes: 1, attention: [] };
      case "rollbackPrepared":
        original.takeBack(call);
        return { said: "taken-back", attention: [] };
      case "checkpoint":
        return { said: "started" };
      case "commit":
        original.commit(call);
        return { said: "committed", changes: 1, attention: [] };
      case "rollback":
        if (deedOf(call) === "land") {
          original.land(call);
          return { said: "committed", changes: 1, attention: [] };
        }
        original.takeBack(call);
        return { said: "rolled-back" };
      case "restoreCheckpoint":
        return { said: "taken-back", attention: [] };
      case "change":
        original.change(call);
        return { said: "changed" };
      case "ask":
        // Only a host without the rule that answers this gets here.
        return { said: "never-ran" };
    }
  }

  /** Looks after what it has noted, one original after the other. */
  #upkeep(): void {
    for (const note of this.#memory.values()) this.#upkeepOf(note);
    this.later(UPKEEP_MS, () => this.#upkeep());
  }

  #upkeepOf({ work, sandbox, plan, original }: Note): void {
    this.#locked(original, (unlock) => {
      const key = noteKey(work, sandbox);
      this.#look({ work, plan }, [], (look) => {
        const note = this.#memory.get(key);
        if (look === undefined || note === undefined) return unlock();
        switch (this.#protocol.upkeepOf(note, look)) {
          case "take-back":
            return this.#takeBack(note, unlock);
          case "release":
            this.#write(released(note));
            break;
          case "forget":
            this.#memory.delete(key);
            this.directory.notes.delete(key);
            break;
          case "nothing":
        }
        unlock();
      });
    });
  }

  #takeBack(note: Note, unlock: () => void): void {
    this.later(this.around.dice.between(1, 200), () => {
      this.#original(note.original).takeBack(note);
      this.later(5, () => {
        const now = this.#memory.get(noteKey(note.work, note.sandbox)) ?? note;
        this.#write(takenBackHere(now, []));
        unlock();
      });
    });
  }

  #holders({ work, original }: Call): readonly Note[] {
    return [...this.#memory.values()].filter(
      (note) => note.original === original && note.work !== work && holdsOriginal(note),
    );
  }

  #noteOf({ work, sandbox }: Call): Note | undefined {
    return this.#memory.get(noteKey(work, sandbox));
  }

  #write(note: Note): void {
    const key = noteKey(note.work, note.sandbox);
    this.#memory.set(key, note);
    this.#count += 1;
    const count = this.#count;
    const flush = (): void => {
      this.directory.notes.set(key, note);
      this.directory.count = Math.max(this.directory.count, count);
    };
    if (this.#protocol.flushesNotes) flush();
    else this.later(this.around.dice.between(0, 3_000), flush);
  }

  #locked(original: string, act: (unlock: () => void) => void): void {
    if (!this.#protocol.oneCallAtATime) {
      act(() => undefined);
      return;
    }
    const waiting = this.#locks.get(original);
    if (waiting !== undefined) {
      waiting.push(() => act(() => this.#unlock(original)));
      return;
    }
    this.#locks.set(original, []);
    act(() => this.#unlock(original));
  }

  #unlock(original: string): void {
    const next = this.#locks.get(original)?.shift();
    if (next === undefined) this.#locks.delete(original);
    else this.later(0, next);
  }

  #original(name: string): Original {
    const original = this.originals.get(name);
    if (original === undefined) throw new Violation(`${this.name} runs a call for ${name}, which it lacks`);
    return original;
  }
}

function noteKey(work: string, sandbox: string): string {
  return `${work} ${sandbox}`;
}
