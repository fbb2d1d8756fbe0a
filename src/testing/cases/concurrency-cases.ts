import type { ConformanceCase } from "../conformance-case.ts";
import { expectEqual } from "../expectation.ts";
import { OTHER_PLAN_ID, PLAN_ID } from "../plan-ids.ts";

const NAMES = Array.from({ length: 8 }, (_, at) => `at-once/${at}.txt`);

/**
 * Several calls at once, each with an instance of its own. Commits over one original never meet: Drydock lets
 * one wait for the other.
 */
export const concurrencyCases: readonly ConformanceCase[] = [
  {
    name: "makes the sandboxes of two plans at once, and keeps them apart",
    group: "concurrency",
    needs: ["isolation"],
    run: async (bench) => {
      const sandboxes = await Promise.all([bench.sandbox(PLAN_ID), bench.sandbox(OTHER_PLAN_ID)]);
      await Promise.all(sandboxes.map((sandbox, at) => sandbox.write("readme.txt", `plan ${at}\n`)));
      const read = await Promise.all(sandboxes.map((sandbox) => sandbox.read("readme.txt")));
      expectEqual(read, ["plan 0\n", "plan 1\n"], "what each of them holds");
    },
  },
  {
    name: "takes writes of several files at once",
    group: "concurrency",
    needs: [],
    run: async (bench) => {
      const sandbox = await bench.sandbox();
      await Promise.all(NAMES.map((name) => sandbox.write(name, `content of ${name}\n`)));
      const read = await Promise.all(NAMES.map((name) => sandbox.read(name)));
      expectEqual(
        read,
        NAMES.map((name) => `content of ${name}\n`),
        "what is in the files",
      );
    },
  },
  {
    name: "shows a diff and reads while another plan lands",
    group: "concurrency",
    needs: ["isolation"],
    run: async (bench) => {
      const [landing, looking] = [await bench.sandbox(PLAN_ID), await bench.sandbox(OTHER_PLAN_ID)];
      await landing.write("readme.txt", "landed\n");
      await looking.write("notes.txt", "mine\n");
      const [, changes, mine] = await Promise.all([
        landing.commit(),
        looking.changes(),
        looking.read("notes.txt"),
      ]);
      expectEqual(mine, "mine\n", "what it read");
      expectEqual(
        changes.filter((line) => line.endsWith(" notes.txt")),
        ["added file notes.txt"],
        "its own change in the diff",
      );
    },
  },
];
