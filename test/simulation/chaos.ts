import type { Original } from "./original.ts";
import type { Protocol } from "./protocol.ts";
import { copyOfDirectory, type Directory, newDirectory, SimulatedHost } from "./simulated-host.ts";
import { HEALED_AT, type World } from "./world.ts";

/** What goes wrong in a run, and the end of it. */
export class Chaos {
  readonly #world: World;
  readonly #protocol: Protocol;
  /** A person who puts copies back more than once could no longer tell which one is right. */
  readonly #copied = new Set<SimulatedHost>();

  constructor(world: World, protocol: Protocol) {
    this.#world = world;
    this.#protocol = protocol;
  }

  begin(): void {
    const { dice, timeline } = this.#world.around;
    for (let at = 0; at < dice.whole(2, 9); at += 1)
      timeline.in(dice.between(500, HEALED_AT - 1_000), () => this.#trouble());
    timeline.in(HEALED_AT, () => this.#heal());
  }

  #trouble(): void {
    const { around } = this.#world;
    const { dice } = around;
    const troubles = [
      () => this.#hostDies(),
      () => this.#hostDies(),
      () => this.#coordinatorDies(),
      () => this.#coordinatorDies(),
      () => this.#freezes(),
      () => this.#freezes(),
      () => this.#isCutOff(),
      () => this.#isCutOff(),
      () => this.#databaseRestarts(),
      () => around.database.loseCalls(dice.pick(this.#world.hosts).name),
      () => this.#otherVersion(),
      () => this.#olderCopy(),
      () => this.#olderCopyAtCommit(),
      () => this.#copyOfMachine(),
      () => this.#secondMachine(),
    ];
    dice.pick(troubles)();
  }

  /** From a moment to most of the run. */
  #while(): number {
    const { dice } = this.#world.around;
    return dice.chance(0.6) ? dice.between(50, 4_000) : dice.between(4_000, 40_000);
  }

  #hostDies(): void {
    const { dice, timeline } = this.#world.around;
    const host = dice.pick(this.#world.hosts);
    if (!host.isUp) return;
    host.die();
    timeline.in(this.#while(), () => revive(host));
  }

  #coordinatorDies(): void {
    const { dice, timeline } = this.#world.around;
    const coordinator = dice.pick(this.#world.coordinators);
    if (!coordinator.isUp) return;
    coordinator.die();
    timeline.in(this.#while(), () => revive(coordinator));
  }

  #freezes(): void {
    const { dice, timeline } = this.#world.around;
    dice.pick([...this.#world.hosts, ...this.#world.coordinators]).frozenUntil = timeline.now + this.#while();
  }

  #isCutOff(): void {
    const { dice, timeline } = this.#world.around;
    dice.pick([...this.#world.hosts, ...this.#world.coordinators]).cutOffUntil = timeline.now + this.#while();
  }

  #databaseRestarts(): void {
    const { around } = this.#world;
    if (!around.isServing) return;
    around.isServing = false;
    around.database.restart();
    around.timeline.in(around.dice.between(200, 5_000), () => {
      around.isServing = true;
    });
  }

  /** A host is replaced by one of another version for a while. */
  #otherVersion(): void {
    const { dice, timeline } = this.#world.around;
    const host = dice.pick(this.#world.hosts);
    if (!host.isUp) return;
    host.die();
    host.contracts = [2];
    timeline.in(dice.between(200, 2_000), () => revive(host));
    timeline.in(this.#while() + 2_000, () => {
      host.die();
      host.contracts = [1];
      revive(host);
    });
  }

  /** Somebody puts an older copy of a state directory back, and the right one after it was refused. */
  #olderCopy(): void {
    const { dice, timeline } = this.#world.around;
    const host = dice.pick(this.#world.hosts);
    if (this.#copied.has(host)) return;
    this.#copied.add(host);
    const delay = dice.chance(0.5) ? dice.between(20, 1_500) : dice.between(1_500, 15_000);
    const copy = copyOfDirectory(host.directory);
    timeline.in(delay, () => this.#putBack(host, copy));
  }

  #putBack(host: SimulatedHost, copy: Directory): void {
    const { dice, timeline } = this.#world.around;
    if (!host.isUp) return;
    host.die();
    const right = host.directory;
    host.directory = copy;
    host.refused = () => timeline.in(dice.between(500, 5_000), () => startFrom(host, right));
    timeline.in(dice.between(100, 2_000), () => revive(host));
  }

  /**
   * The same at the worst moment: the copy is made when a commit that can't be taken back comes, and the host
   * dies right after that has happened.
   */
  #olderCopyAtCommit(): void {
    const { dice } = this.#world.around;
    const host = dice.pick(this.#world.hosts);
    if (this.#copied.has(host)) return;
    this.#copied.add(host);
    let copy: Directory | undefined;
    host.watch = ({ kind, method }, moment) => {
      if (kind !== "irreversible" || method !== "commit") return;
      if (moment === "comes") copy = copyOfDirectory(host.directory);
      if (moment === "comes" || copy === undefined) return;
      host.watch = () => undefined;
      this.#putBack(host, copy);
    };
  }

  /**
   * A copy of the whole machine starts while the machine itself goes on, or stands still and goes on later.
   * If the copy is taken, its originals are the true ones from then on.
   */
  #copyOfMachine(): void {
    const { around, hosts } = this.#world;
    const { dice, timeline } = around;
    const host = dice.pick(hosts);
    if (!host.isUp || this.#copied.has(host)) return;
    this.#copied.add(host);
    const { name, originals } = host;
    const directory = copyOfDirectory(host.directory);
    const copies = new Map([...originals].map(([key, original]) => [key, original.copy()]));
    if (dice.chance(0.5)) host.frozenUntil = timeline.now + this.#while();
    const copy = new SimulatedHost(around, this.#protocol, { name, originals: copies, directory });
    this.#copied.add(copy);
    copy.started = () => {
      host.originals = new Map([...originals].map(([key, original]) => [key, original.copy()]));
      for (const [key, original] of originals) original.become(copies.get(key) as Original);
      copy.originals = originals;
      copy.started = () => undefined;
      hosts[hosts.indexOf(host)] = copy;
      timeline.in(this.#while(), () => host.die());
    };
    timeline.in(dice.between(20, 4_000), () => copy.start());
  }

  /** Another machine comes up under the name of a host, with a directory and files of its own. */
  #secondMachine(): void {
    const { around } = this.#world;
    const { name } = around.dice.pick(this.#world.hosts);
    if (!around.database.isKnown(name)) return;
    const directory = newDirectory(`another of ${name}`);
    const facts = { name, originals: new Map(), directory };
    const second = new SimulatedHost(around, this.#protocol, facts);
    second.start();
    around.timeline.in(this.#while(), () => second.die());
  }

  #heal(): void {
    const { around, hosts, coordinators } = this.#world;
    around.isHealed = true;
    around.isServing = true;
    for (const process of [...hosts, ...coordinators]) {
      process.frozenUntil = 0;
      process.cutOffUntil = 0;
      revive(process);
    }
    for (const host of hosts) if (!host.contracts.includes(1)) host.contracts = [1];
  }
}

function revive(process: { isUp: boolean; start(): void }): void {
  if (!process.isUp) process.start();
}

function startFrom(host: SimulatedHost, right: Directory): void {
  host.die();
  host.directory = right;
  host.start();
}
