import type { Change } from "../../core/change.ts";
import type { SavedCheckpoint } from "../../core/checkpoint.ts";
import {
  type DrydockError,
  SandboxCreationError,
  SandboxRollbackError,
  UnsupportedError,
  UsageError,
} from "../../core/errors/errors.ts";
import type { ProgramView } from "../../core/program-view.ts";
import type { Entry } from "../../core/resource/entry.ts";
import type { Resource } from "../../core/resource/resource.ts";
import type { SandboxRef } from "../../core/sandbox.ts";
import type {
  Attention,
  CommitResult,
  SandboxStrategy,
  TwoPhaseSandboxStrategy,
} from "../../core/strategy.ts";
import type { StrategyWay } from "../../core/strategy-abilities.ts";

/** Every method of the contract, optional ones included. */
export type Contract = Required<Omit<TwoPhaseSandboxStrategy, "name" | "capabilities" | "version">>;
export type MethodName = keyof Contract;
export type ArgumentsOf<M extends MethodName> = Parameters<Contract[M]>;

/** The answers of methods that a strategy may lack, or that may return nothing. */
interface Answers {
  readonly checkpoint: SavedCheckpoint;
  readonly rollbackPrepared: readonly Attention[];
  readonly path: string | undefined;
  readonly stat: Entry | undefined;
  readonly enter: ProgramView | undefined;
  readonly ways: readonly StrategyWay[] | undefined;
  readonly landed: readonly Change[] | undefined;
  readonly saved: readonly Change[] | undefined;
}
export type Answer<M extends MethodName> = M extends keyof Answers
  ? Answers[M]
  : Awaited<ReturnType<Contract[M]>>;

/** The class of the error for a failure that is none of ours. */
export type ErrorType = new (message: string, options: object) => DrydockError;

/** The sandbox or resource of a call. */
export interface Subject {
  readonly ref?: SandboxRef;
  readonly resource?: Resource;
}

interface MethodRule<M extends MethodName> {
  /** The kinds of strategy that must have the method. Default: none, the method is optional. */
  readonly required?: "always" | "two-phase";
  /** The subject of the call. Default: the sandbox of the first argument. */
  readonly about?: (...args: ArgumentsOf<M>) => Subject;
  /** The second argument is a path inside the resource; with "two", the third as well. */
  readonly takesPath?: true | "two";
  /** The class of the error for a failure. Default: `SandboxCommitError`. */
  readonly error?: ErrorType;
  /** The method lands, takes back or removes: it runs to its end although the user interrupts. */
  readonly finishes?: true;
  /** The method also serves sandboxes of another version of the strategy. */
  readonly anyVersion?: true;
  /** Throws the error where a strategy lacks the method. Default: `nothing` answers. */
  readonly missing?: () => never;
  /** The answer where a strategy lacks the method, or returns nothing. Default: undefined. */
  readonly nothing?: (args: ArgumentsOf<M>, strategy: SandboxStrategy) => Answer<M> | Promise<Answer<M>>;
  /**
   * When the method returns, the world has changed, whatever the answer says. So an invalid answer is no
   * failure: this adds it to the answer as something that a person should look at.
   */
  readonly reported?: (answer: Answer<M>, attention: Attention) => Answer<M>;
}

const inCommit = (done: CommitResult, more: Attention) => ({ ...done, attention: [...done.attention, more] });

/** The rules for calling each method of the contract (core/strategy.ts). The only list of the methods. */
export const METHODS: { readonly [M in MethodName]: MethodRule<M> } = {
  create: { required: "always", error: SandboxCreationError, about: (_, resource) => ({ resource }) },
  read: { required: "always", takesPath: true },
  write: { required: "always", takesPath: true },
  diff: { required: "always" },
  commit: {
    ...{ required: "always", finishes: true, reported: inCommit },
    nothing: () => ({ changes: 0, attention: [] }),
  },
  rollback: { required: "always", error: SandboxRollbackError, finishes: true, anyVersion: true },
  checkpoint: { required: "always", nothing: () => ({}) },
  restoreCheckpoint: { required: "always", error: SandboxRollbackError, finishes: true },
  cleanup: { required: "always", finishes: true, anyVersion: true },

  prepare: { required: "two-phase" },
  commitPrepared: {
    ...{ required: "two-phase", finishes: true, reported: inCommit },
    nothing: ([, , prepared]) => ({ changes: prepared.changes, attention: [] }),
  },
  rollbackPrepared: {
    ...{ required: "two-phase", finishes: true, error: SandboxRollbackError, nothing: () => [] },
    reported: (attention, more) => [...attention, more],
  },

  query: { nothing: takesNoStatements },
  changedRows: { takesPath: true, missing: hasNoRows },
  stat: { takesPath: true, missing: hasNoEntries },
  list: { takesPath: true, missing: hasNoEntries },
  readPart: { takesPath: true, missing: hasNoEntries },
  writeFrom: { takesPath: true, missing: hasNoEntries },
  makeFolder: { takesPath: true, missing: hasNoEntries },
  remove: { takesPath: true, missing: hasNoEntries },
  rename: { takesPath: "two", missing: hasNoEntries },
  takeOver: { missing: takesNothingOver },
  keepBases: {},
  update: { missing: cannotMerge },
  resolve: { takesPath: true, missing: cannotMerge },
  takeOut: { missing: takesNothingOut },
  discardCheckpoint: { anyVersion: true },
  saved: {},
  readSaved: { takesPath: true },
  path: {},
  enter: { nothing: viewOfPath },
  leave: { finishes: true },
  environment: { nothing: () => ({}) },
  readOriginal: { takesPath: true },
  notes: { nothing: () => [] },
  probe: { error: UnsupportedError, about: (resource) => ({ resource }), nothing: () => ({ works: true }) },
  ways: { error: UnsupportedError, about: () => ({}) },
  discardUndo: { finishes: true, anyVersion: true },
  landed: { anyVersion: true },
  readLanded: { takesPath: true },
};

export const METHOD_NAMES = Object.keys(METHODS) as readonly MethodName[];

/** The methods that a strategy with this kind of commit must have. */
export function requiredMethods(commit: unknown): readonly MethodName[] {
  return METHOD_NAMES.filter((name) => {
    const { required } = METHODS[name];
    return required === "always" || (required === "two-phase" && commit === "two-phase");
  });
}

/**
 * Calls a method of a strategy. The table gives the answer where the method is missing or returns nothing.
 */
export async function answerOf<M extends MethodName>(
  strategy: SandboxStrategy,
  method: M,
  args: ArgumentsOf<M>,
): Promise<Answer<M>> {
  const { required, missing, nothing } = METHODS[method];
  // The registry has checked that the members are functions.
  const members = strategy as unknown as {
    readonly [name in M]?: (...args: ArgumentsOf<M>) => Promise<Answer<M>>;
  };
  if (members[method] === undefined && required !== undefined)
    throw new UnsupportedError(`The strategy has no ${method}.`, {
      hint: "Only two-phase strategies have it.",
    });
  if (members[method] === undefined) missing?.();
  const answer = await members[method]?.(...args);
  return answer === undefined && nothing !== undefined
    ? await nothing(args, strategy)
    : (answer as Answer<M>);
}

function hasNoEntries(): never {
  throw new UsageError("The entries of this sandbox can't be worked on one by one.", {
    hint: "It is a database, or its strategy can't do this: use statements, read and write, or its path.",
    code: "NO_ENTRIES",
  });
}

function hasNoRows(): never {
  throw new UnsupportedError("The rows of this resource can't be shown: it is no database, or holds none.", {
    hint: "See its diff.",
  });
}

function takesNothingOver(): never {
  throw new UnsupportedError("What commands wrote there can't be taken over: the strategy can't do that.", {
    hint: "Choose a strategy of folders, such as overlay or filesystem_copy, or add the folder around it.",
  });
}

function takesNothingOut(): never {
  throw new UnsupportedError("Single changes can't be taken out of this sandbox.", {
    hint: "Strategies of folders and SQLite databases can. Roll the plan back as a whole, or change it inside.",
    code: "NO_PARTS",
  });
}

function cannotMerge(): never {
  throw new UnsupportedError("Its strategy can't bring in what others changed meanwhile.", {
    hint: "Bring the original back as it was at these paths, or make a new plan and do the work again.",
    code: "NO_UPDATE",
  });
}

function takesNoStatements(): never {
  throw new UsageError("This resource takes no statements: it is no database.", { code: "NO_QUERY" });
}

/** The view of a strategy without views of its own: programs see what is at its path. */
async function viewOfPath(
  [ref]: readonly [SandboxRef],
  strategy: SandboxStrategy,
): Promise<ProgramView | undefined> {
  const path = await strategy.path?.(ref);
  return path?.startsWith("/") === true ? { kind: "place", path } : undefined;
}
