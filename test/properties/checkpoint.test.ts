import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { FilesystemCopyStrategy } from "../../src/strategies/filesystem-copy/filesystem-copy.ts";
import { contextIn } from "../support/strategy-context.ts";
import { tryCheckpoints } from "./checkpoint-properties.ts";

describe("checkpoints of random work", () => {
  let parent = "";

  before(() => {
    parent = mkdtempSync(join(tmpdir(), "drydock-checkpoints-"));
    mkdirSync(join(parent, "state"));
  });

  after(() => rmSync(parent, { recursive: true, force: true }));

  it("[C6] bring back exactly that state, and exactly that lands", () =>
    tryCheckpoints(new FilesystemCopyStrategy(contextIn(join(parent, "state"))), {
      parent,
      count: 20,
      seconds: 5,
    }));
});
