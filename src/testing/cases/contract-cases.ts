import { isDeepStrictEqual } from "node:util";
import { sandboxIdFor } from "../../core/sandbox.ts";
import { requiredMethods } from "../../strategies/custom/method-table.ts";
import type { ConformanceCase } from "../conformance-case.ts";
import { expect, expectEqual, expectNone } from "../expectation.ts";
import { PLAN_ID } from "../plan-ids.ts";

/** What every strategy has and returns. */
export const contractCases: readonly ConformanceCase[] = [
  {
    name: "has a name, capabilities and every method of the contract",
    group: "contract",
    needs: [],
    run: async ({ strategy }) => {
      const methods = requiredMethods(strategy.capabilities.commit);
      const members = strategy as unknown as { readonly [member: string]: unknown };
      expect(typeof strategy.name === "string" && strategy.name !== "", "it has no name");
      expectNone(
        methods.filter((method) => typeof members[method] !== "function"),
        "these methods are missing",
      );
    },
  },
  {
    name: "returns a ref that names the plan, the resource and the strategy",
    group: "contract",
    needs: [],
    run: async ({ strategy, resource }) => {
      const ref = await strategy.create(PLAN_ID, resource);
      expectEqual(ref.planId, PLAN_ID, "planId");
      expectEqual(ref.resourceId, resource.id, "resourceId");
      expectEqual(ref.strategyName, strategy.name, "strategyName");
      expectEqual(ref.sandboxId, sandboxIdFor(PLAN_ID, resource.id), "sandboxId");
    },
  },
  {
    name: "returns plain data, which survives JSON",
    group: "contract",
    needs: [],
    run: async ({ strategy, resource }) => {
      const ref = await strategy.create(PLAN_ID, resource);
      const change = await strategy.write(ref, "readme.txt", Buffer.from("changed\n"));
      const view = await strategy.diff(ref);
      for (const [what, value] of Object.entries({ ref, change, view })) {
        expect(isDeepStrictEqual(JSON.parse(JSON.stringify(value)), value), `the ${what} is not plain data`);
      }
    },
  },
  {
    name: "records its intent with the ref it is going to return before anything exists",
    group: "contract",
    needs: [],
    run: async ({ strategy, resource, intents }) => {
      const ref = await strategy.create(PLAN_ID, resource);
      expect(intents.length > 0, "create did not call recordIntent");
      expectEqual(intents.at(-1)?.ref, ref, "the ref of the last intent");
      expect((intents.at(-1)?.places.length ?? 0) > 0, "the intent names no place");
    },
  },
  {
    name: "works in another process, which has nothing but the ref",
    group: "contract",
    needs: [],
    run: async (bench) => {
      const ref = await bench.strategy.create(PLAN_ID, bench.resource);
      await bench.strategy.write(ref, "notes.txt", Buffer.from("from the first\n"));
      const other = bench.fresh();
      const sameRef = JSON.parse(JSON.stringify(ref)) as typeof ref;
      expectEqual(
        Buffer.from(await other.read(sameRef, "notes.txt")).toString(),
        "from the first\n",
        "what the other process reads",
      );
      await other.write(sameRef, "notes.txt", Buffer.from("from the second\n"));
      expectEqual(
        Buffer.from(await bench.strategy.read(ref, "notes.txt")).toString(),
        "from the second\n",
        "what the first process reads then",
      );
    },
  },
  {
    name: "reads what it wrote, and what the original holds",
    group: "contract",
    needs: [],
    run: async (bench) => {
      const sandbox = await bench.sandbox();
      expectEqual(await sandbox.read("src/app.ts"), "export const app = 1;\n", "a file of the original");
      await sandbox.write("src/app.ts", "export const app = 2;\n");
      await sandbox.write("made/on/the/way.txt", "new\n");
      expectEqual(
        await sandbox.read("src/app.ts"),
        "export const app = 2;\n",
        "a file that was written over",
      );
      expectEqual(await sandbox.read("made/on/the/way.txt"), "new\n", "a file in new folders");
    },
  },
  {
    name: "says of a write whether it added or modified a file",
    group: "contract",
    needs: [],
    run: async (bench) => {
      const sandbox = await bench.sandbox();
      const told = [await sandbox.write("made.txt", "1\n"), await sandbox.write("made.txt", "2\n")];
      expectEqual(
        told.map(({ path, operation, kind }) => ({ path, operation, kind })),
        [
          { path: "made.txt", operation: "added", kind: bench.kind },
          { path: "made.txt", operation: "modified", kind: bench.kind },
        ],
        "the changes that write returned",
      );
    },
  },
];
