import { StrategyUnavailableError } from "../../core/errors/errors.ts";
import { assertResourcePath } from "../../core/resource/resource.ts";
import type { SandboxRef } from "../../core/sandbox.ts";
import type { RegisteredStrategy } from "../registered-strategy.ts";
import { errorFrom } from "./foreign-errors.ts";
import {
  type Answer,
  type ArgumentsOf,
  answerOf,
  METHOD_NAMES,
  METHODS,
  type MethodName,
  type Subject,
} from "./method-table.ts";

/** Finds the implementation of a strategy for a sandbox or resource. */
export type FindStrategy = (subject: Subject) => Promise<RegisteredStrategy>;

/** Makes a call whose progress is about this resource. */
export type AboutResource = <T>(resourceId: string, call: () => T) => T;

/**
 * Stands between Drydock and a strategy, so that the rules hold whatever the strategy does. It loads a
 * strategy at its first call, checks paths, lets only the version that made a sandbox touch it, and turns
 * whatever is thrown into an error of ours that names the strategy. `CustomCalls` adds the rules for
 * strategies of the user's own.
 */
export type GuardedStrategy = {
  readonly [M in MethodName]: (...args: ArgumentsOf<M>) => Promise<Answer<M>>;
} & {
  /** Loads the strategy, and refuses a sandbox that another version of it made. */
  assertUsable(ref: SandboxRef): Promise<void>;
  /** Whether another version of the strategy made this sandbox, so that this version can't judge it. */
  isOtherVersion(ref: SandboxRef): Promise<boolean>;
};

/** The guard of the strategy that `find` finds, with every method of the table. */
export function guarded(find: FindStrategy, about: AboutResource = (_, make) => make()): GuardedStrategy {
  const methods = METHOD_NAMES.map((method) => [
    method,
    (...args: ArgumentsOf<typeof method>) => call(find, about, method, args),
  ]);
  return {
    ...(Object.fromEntries(methods) as GuardedStrategy),
    assertUsable: async (ref) => assertVersion(ref, await find({ ref })),
    isOtherVersion: async (ref) => (await find({ ref })).madeWith.version !== ref.madeWith?.version,
  };
}

async function call<M extends MethodName>(
  find: FindStrategy,
  aboutResource: AboutResource,
  method: M,
  given: ArgumentsOf<M>,
): Promise<Answer<M>> {
  const { about, takesPath, anyVersion } = METHODS[method];
  const args = withCheckedPaths(given, takesPath === undefined ? 0 : takesPath === "two" ? 2 : 1);
  const subject = about === undefined ? { ref: args[0] as SandboxRef } : about(...args);
  const found = await find(subject);
  if (subject.ref !== undefined && anyVersion !== true) assertVersion(subject.ref, found);
  try {
    const answer = () => found.custom?.call(found, method, args) ?? answerOf(found.strategy, method, args);
    const resourceId = subject.ref?.resourceId ?? subject.resource?.id;
    return await (resourceId === undefined ? answer() : aboutResource(resourceId, answer));
  } catch (thrown) {
    throw errorFrom(thrown, method, found.name);
  }
}

/** The arguments after the first one are paths, so many of them. */
function withCheckedPaths<Args extends readonly unknown[]>(args: Args, paths: number): Args {
  if (paths === 0) return args;
  const checked = args.map((value, at) =>
    at > 0 && at <= paths ? assertResourcePath(value as string) : value,
  );
  return checked as readonly unknown[] as Args;
}

function assertVersion({ madeWith }: SandboxRef, { name, madeWith: { version } }: RegisteredStrategy): void {
  if (madeWith?.version === version) return;
  throw new StrategyUnavailableError(
    `The sandbox was made by ${versionText(madeWith?.version)} of the strategy ${name}; here is ${versionText(version)}.`,
    {
      strategy: name,
      hint: "Bring that version back, or cancel the plan.",
      code: "STRATEGY_CHANGED",
    },
  );
}

function versionText(version: string | undefined): string {
  return version === undefined ? "one without a version" : `version ${version}`;
}
