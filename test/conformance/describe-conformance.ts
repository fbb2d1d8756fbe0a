import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";
import type { SandboxStrategy, StrategyContext } from "../../src/core/strategy.ts";
import {
  CONFORMANCE_GROUPS,
  type ConformanceCase,
  type ConformanceGroup,
  conformanceCases,
  runConformance,
  type StrategyFactory,
} from "../../src/testing/index.ts";
import { IS_LONG } from "../support/long-form.ts";

/** The promises that a case keeps, by the beginning of its name. */
const PROMISES: readonly (readonly [caseName: string, ids: string])[] = [
  ["has a name, capabilities", "[S1] [S7]"],
  ["works in another process", "[L4]"],
  ["refuses a second create", "[L3]"],
  ["shows the original again after a rollback", "[L2]"],
  ["is usable after a rollback", "[L2]"],
  ["never shares an inode", "[A20]"],
  ["finds added, modified and deleted", "[D1]"],
  ["finds other content of the same size", "[D2]"],
  ["finds a link that leads elsewhere", "[D3]"],
  ["finds entries that became another kind", "[D1] [D3]"],
  ["finds changes of nothing but mode", "[D4]"],
  ["does not hang on a fifo", "[D5]"],
  ["tells text from binary", "[D7]"],
  ["refuses to read or write", "[X1]"],
  ["lands a link that leads out", "[X1]"],
  ["does not land through a link", "[X1]"],
  ["lands exactly", "[A11]"],
  ["takes a commit back by rollback, exactly", "[A11]"],
  ["takes a landed transaction back by one", "[A11]"],
  ["commits a sandbox without work", "[A13]"],
  ["prepares a sandbox without work", "[A13]"],
  ["lands one of two files by itself", "[A1]"],
  ["takes a part back that landed", "[A18]"],
  ["gives back a part", "[A7]"],
  ["leaves a part landed when", "[L2]"],
  ["lands the rest beside", "[A15]"],
  ["lands work of every kind in parts", "[A11]"],
  ["gives the work back", "[A7]"],
  ["brings back exactly the state", "[C6]"],
  ["refuses to land over another writer's changes", "[A15]"],
];

/** What may depend on the file system: in a normal run the rest is tried on one of them. */
export const OF_FILE_SYSTEMS: readonly ConformanceGroup[] = ["exactness", "conflicts"];

/** A factory of strategies for folders below this one. */
export function folderFactory(
  create: (context: StrategyContext) => SandboxStrategy,
  parent: string | (() => string) = tmpdir(),
): StrategyFactory {
  return {
    create,
    makeResource: () => {
      const path = mkdtempSync(join(typeof parent === "string" ? parent : parent(), "drydock-resource-"));
      return {
        resource: { id: "resource", name: "resource", type: "fs-directory", location: path, properties: {} },
        originalPath: path,
        dispose: () => {
          // Read-only folders keep what is in them, but for root.
          if (process.geteuid?.() !== 0) spawnSync("chmod", ["-R", "u+rwx", path]);
          rmSync(path, { recursive: true, force: true });
        },
      };
    },
  };
}

/** Which cases of the suite are tried. */
interface CaseChoice {
  /** Default: all. */
  readonly groups?: readonly ConformanceGroup[] | undefined;
  /** In a normal run one of so many cases of each group, beginning with its first. Default: every one. */
  readonly oneIn?: number | undefined;
}

/** The cases that are tried; in a long run all of the groups. */
export function chosenCases({ groups, oneIn = 1 }: CaseChoice): readonly ConformanceCase[] {
  const step = IS_LONG ? 1 : oneIn;
  return CONFORMANCE_GROUPS.filter((group) => groups?.includes(group) ?? true).flatMap((group) =>
    conformanceCases.filter((candidate) => candidate.group === group).filter((_, at) => at % step === 0),
  );
}

/** The other cases of these groups, which do nothing: they tell whether the strategy excludes them. */
export function standIns(choice: CaseChoice): readonly ConformanceCase[] {
  const chosen = chosenCases(choice);
  return chosenCases({ groups: choice.groups })
    .filter((candidate) => !chosen.includes(candidate))
    .map((candidate) => ({ ...candidate, run: async () => undefined }));
}

/** The name of a case with the promises that it keeps. */
export function titleOf({ name, group }: ConformanceCase): string {
  const promise = PROMISES.find(([start]) => name.startsWith(start));
  return `${promise === undefined ? "" : `${promise[1]} `}${name} (${group})`;
}

/**
 * One test for each case of the suite. What the strategy's capabilities exclude must be exactly what is
 * given.
 */
export function describeConformance(
  title: string,
  factory: StrategyFactory,
  options: CaseChoice & {
    readonly scratchDir?: () => string;
    readonly excludes?: readonly string[];
    readonly skip?: string;
  } = {},
): void {
  describe(`[S9] ${title}`, { skip: options.skip ?? false }, () => {
    const excluded: string[] = [];
    for (const candidate of chosenCases(options))
      it(titleOf(candidate), async (t) => {
        const scratchDir = options.scratchDir?.();
        const report = await runConformance(factory, {
          cases: [candidate],
          ...(scratchDir !== undefined && { scratchDir }),
        });
        for (const { error } of report.failed) throw error;
        for (const { reason } of report.excluded) {
          excluded.push(candidate.group);
          t.diagnostic(`excluded: ${reason}`);
        }
      });
    it("leaves out exactly the groups that the capabilities exclude", async (t) => {
      const report = await runConformance(factory, { cases: standIns(options) });
      excluded.push(...report.excluded.map(({ group }) => group));
      // Of the built-in strategies the crash suite knows more points to die at. None of those that come here
      // speaks with a server.
      const crashes = factory.module === undefined ? ["crash", "late requests"] : ["late requests"];
      const expected = [...(options.excludes ?? []), ...crashes];
      const isChosen = (group: string) => options.groups?.some((each) => each === group) ?? true;
      t.assert.deepEqual([...new Set(excluded)].sort(), expected.filter(isChosen).sort());
    });
  });
}
