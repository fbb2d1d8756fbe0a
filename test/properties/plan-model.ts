import type { Name, State } from "./plan-world.ts";

/** A part that has landed: one key of one resource. */
interface LandedPart {
  readonly name: Name;
  readonly key: string;
  readonly value: string | undefined;
}

interface Landing {
  /** The originals before it. */
  readonly before: State;
  readonly part?: LandedPart;
}

/**
 * What a plan and its originals have to be, in memory: every step gives another one. A step that can't be
 * done, or has to be refused, gives the same.
 */
export class PlanModel {
  readonly originals: State;
  readonly sandboxes: State;
  readonly state: "open" | "applied" | "undone";
  readonly checkpoints: readonly { readonly label: string; readonly sandboxes: State }[];
  readonly landings: readonly Landing[];

  constructor(facts: Pick<PlanModel, "originals" | "sandboxes" | "state" | "checkpoints" | "landings">) {
    this.originals = facts.originals;
    this.sandboxes = facts.sandboxes;
    this.state = facts.state;
    this.checkpoints = facts.checkpoints;
    this.landings = facts.landings;
  }

  /** A new plan over these originals. */
  static over(originals: State): PlanModel {
    return new PlanModel({ originals, sandboxes: originals, state: "open", checkpoints: [], landings: [] });
  }

  set(name: Name, key: string, value: string | undefined): PlanModel {
    return this.#with({ sandboxes: changed(this.sandboxes, name, key, value) });
  }

  checkpoint(label: string): PlanModel {
    return this.#with({ checkpoints: [...this.checkpoints, { label, sandboxes: this.sandboxes }] });
  }

  restore(label: string): PlanModel {
    const at = this.checkpoints.findIndex((checkpoint) => checkpoint.label === label);
    const sandboxes = this.checkpoints[at]?.sandboxes ?? this.sandboxes;
    return this.#with({ sandboxes, checkpoints: this.checkpoints.slice(0, at + 1) });
  }

  apply(): PlanModel {
    const landings = [...this.landings, { before: this.originals }];
    return this.#with({ originals: this.sandboxes, state: "applied", checkpoints: [], landings });
  }

  hasChange(name: Name, key: string): boolean {
    return this.sandboxes[name]?.[key] !== this.originals[name]?.[key];
  }

  applyPart(name: Name, key: string): PlanModel {
    const value = this.sandboxes[name]?.[key];
    return this.#with({
      originals: changed(this.originals, name, key, value),
      checkpoints: [],
      landings: [...this.landings, { before: this.originals, part: { name, key, value } }],
    });
  }

  /** An overlay does not take back what its sandbox went on from. */
  get refusesUndo(): boolean {
    const part = this.landings.at(-1)?.part;
    return (
      this.state === "open" && part?.name === "view" && this.sandboxes["view"]?.[part.key] !== part.value
    );
  }

  undo(): PlanModel {
    const last = this.landings.at(-1);
    if (last === undefined) return this;
    const landings = this.landings.slice(0, -1);
    const over = landings.length === 0 ? ("undone" as const) : ("applied" as const);
    return this.#with({
      originals: last.before,
      landings,
      checkpoints: [],
      state: this.state === "open" ? "open" : over,
    });
  }

  rollback(): PlanModel {
    return this.#with({ sandboxes: this.originals, checkpoints: [] });
  }

  #with(facts: Partial<PlanModel>): PlanModel {
    return new PlanModel({ ...this, ...facts });
  }
}

function changed(state: State, name: Name, key: string, value: string | undefined): State {
  const { [key]: _, ...rest } = state[name] ?? {};
  const values = value === undefined ? rest : { ...rest, [key]: value };
  return { ...state, [name]: values };
}
