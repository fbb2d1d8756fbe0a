import { resolve } from "node:path";
import { messageOf, UsageError } from "../core/errors/errors.ts";
import type { StrategyContext } from "../core/strategy.ts";
import type { Subject } from "../strategies/custom/method-table.ts";
import { Folder } from "../system/calls/folder.ts";
import { asMade, checkStrategy } from "./check-strategy.ts";
import type { ConformanceReport } from "./run-conformance.ts";
import type { ResourceFixture } from "./strategy-factory.ts";
import { type CheckSurroundings, isInModule, resourceMakerOf, strategyToCheck } from "./strategy-to-check.ts";

/** How to check a strategy. */
export interface CheckRequest {
  /**
   * A folder in which the suite makes resources, on its file system; or `MODULE:FUNCTION`, which makes one
   * (`ResourceFixture` of drydock-sandbox/testing). Default: the system's temporary folder.
   */
  readonly resource?: string;
}

/** Runs the conformance suite on a strategy that a user names. */
export async function check(
  strategy: string,
  { resource }: CheckRequest,
  surroundings: CheckSurroundings & Pick<StrategyContext, "signal" | "progress">,
): Promise<ConformanceReport> {
  const { folder, environment, signal, progress } = surroundings;
  const isMaker = resource !== undefined && isInModule(resource);
  const makeResource = isMaker ? await resourceMakerOf(resource, folder) : undefined;
  const checked = await strategyToCheck(strategy, surroundings, await subjectOf(makeResource));
  return await checkStrategy(checked, {
    environment,
    signal,
    onResult: (_, done, total) => progress({ task: "checking", done, total }),
    ...(makeResource !== undefined && { makeResource }),
    ...(resource !== undefined && !isMaker && { parent: existingFolder(resolve(folder, resource)) }),
  });
}

/** The resource that the strategy would isolate: a type may have an implementation of its own. */
async function subjectOf(make: (() => Promise<ResourceFixture>) | undefined): Promise<Subject> {
  if (make === undefined) return {};
  const { resource, dispose } = asMade(await make());
  await dispose();
  return { resource };
}

function existingFolder(path: string): string {
  try {
    Folder.open(path).close();
    return path;
  } catch (thrown) {
    throw new UsageError(`Resources can't be made there: ${messageOf(thrown)}`, {
      code: "NO_SUCH_FOLDER",
      cause: thrown,
    });
  }
}
