import type { Known } from "../../src/fleet/protocol/drive-results.ts";
import type { SimulatedDatabase } from "./simulated-database.ts";
import type { Dice, Timeline } from "./timeline.ts";

/** How long a client waits for the database: what comes later is nobody's any more. */
const CLIENT_WAITS_MS = 2_500;

/** What all processes of a run share. */
export interface Surroundings {
  readonly timeline: Timeline;
  readonly dice: Dice;
  readonly database: SimulatedDatabase;
  /** False: the server is down. */
  isServing: boolean;
  /** Nothing goes wrong any more. */
  isHealed: boolean;
}

/**
 * A process that can die, be stopped for a while, and be cut off. It reaches the database only by a network
 * that loses and delays requests and answers: a request may still arrive long after its sender stopped
 * waiting.
 */
export class SimulatedProcess {
  protected readonly around: Surroundings;
  isUp = false;
  frozenUntil = 0;
  cutOffUntil = 0;
  #life = 0;
  /** Its own clock runs a little too fast or too slow. */
  readonly #rate: number;

  constructor(around: Surroundings) {
    this.around = around;
    this.#rate = around.dice.between(0.95, 1.05);
  }

  get clock(): number {
    return this.around.timeline.now * this.#rate;
  }

  get life(): number {
    return this.#life;
  }

  protected comeUp(): void {
    this.isUp = true;
    this.#life += 1;
    this.frozenUntil = 0;
  }

  protected goDown(): void {
    this.isUp = false;
    this.#life += 1;
  }

  /** Does this after a while, if it still lives then; a stopped process does it when it goes on. */
  protected later(delay: number, act: () => void): void {
    const { timeline } = this.around;
    const life = this.#life;
    const happen = (): void => {
      if (this.#life !== life) return;
      if (this.frozenUntil > timeline.now) timeline.in(this.frozenUntil - timeline.now + 1, happen);
      else act();
    };
    timeline.in(delay, happen);
  }

  /** Asks the database. What came of it may never be known. */
  protected ask<T>(statement: (database: SimulatedDatabase) => T, then: (result: Known<T>) => void): void {
    const { timeline, database } = this.around;
    const life = this.#life;
    let isAnswered = false;
    const once = (result: Known<T>): void => {
      if (isAnswered) return;
      isAnswered = true;
      then(result);
    };
    this.later(CLIENT_WAITS_MS, () => once({ was: "not-known" }));
    if (this.#isLost()) return;
    timeline.in(this.#delay(), () => {
      if (!this.around.isServing || this.cutOffUntil > timeline.now) return;
      const value = statement(database);
      if (this.#isLost()) return;
      timeline.in(this.#delay(), () => {
        if (this.#life === life && this.cutOffUntil <= timeline.now)
          this.later(0, () => once({ was: "known", value }));
      });
    });
  }

  #isLost(): boolean {
    return !this.around.isHealed && this.around.dice.chance(0.02);
  }

  #delay(): number {
    const { dice, isHealed } = this.around;
    const kind = dice.throw();
    if (isHealed || kind < 0.92) return dice.between(2, 40);
    return kind < 0.98 ? dice.between(100, 2_000) : dice.between(2_000, 25_000);
  }
}
