import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Resource } from "../core/resource/resource.ts";
import type { SandboxRef } from "../core/sandbox.ts";
import type { SandboxStrategy } from "../core/strategy.ts";
import { requiredMethods } from "./custom/method-table.ts";
import { SandboxStrategyRegistry } from "./registry.ts";

/** A strategy whose required methods return what they are called by. */
function strategyFor(resourceTypes: readonly string[], more: object = {}): SandboxStrategy {
  const methods = requiredMethods("one-phase").map((method) => [
    method,
    async () => `${method} for ${resourceTypes}`,
  ]);
  const capabilities = { commit: "one-phase", resourceTypes };
  return { name: "kept", capabilities, ...Object.fromEntries(methods), ...more } as SandboxStrategy;
}

/** `kept`, with an implementation of its own for books. */
function registryWithTypes(): SandboxStrategyRegistry {
  const registry = new SandboxStrategyRegistry();
  registry.declare({
    name: "kept",
    types: ["book"],
    typeOf: ({ metadata }) => (metadata["shelf"] === undefined ? undefined : "book"),
    load: async (_, type) => ({ strategy: strategyFor([type ?? "folder"]) }),
  });
  return registry;
}

const resource = (type: string, lineage?: readonly string[]): Resource => ({
  ...{ id: "r", name: "r", type, location: "/somewhere", properties: {} },
  ...(lineage !== undefined && { lineage }),
});

const ref = (metadata: SandboxRef["metadata"]): SandboxRef => ({
  ...{ sandboxId: "p-r", planId: "p", resourceId: "r", strategyName: "kept", metadata },
});

describe("A strategy with an implementation of its own for a type of resource", () => {
  it("makes sandboxes of that type, and of what is made out of it, by that one", async () => {
    const kept = registryWithTypes().guarded("kept");
    const answers = [resource("folder"), resource("book"), resource("atlas", ["atlas", "book"])];
    assert.deepEqual(await Promise.all(answers.map((each) => kept.create("p", each))), [
      "create for folder",
      "create for book",
      "create for book",
    ]);
  });

  it("calls the implementation that a sandbox was made by, and one instance of each", async () => {
    const registry = registryWithTypes();
    const kept = registry.guarded("kept");
    assert.equal(await kept.diff(ref({})), "diff for folder");
    assert.equal(await kept.diff(ref({ shelf: "A" })), "diff for book");
    const again = await registry.resolve("kept", { resource: resource("book") });
    assert.equal((await registry.resolve("kept", { ref: ref({ shelf: "B" }) })).strategy, again.strategy);
  });

  it("is listed once, with the types of all", async () => {
    const { strategies } = await registryWithTypes().listAll();
    assert.deepEqual(
      strategies.map(({ name, capabilities }) => [name, capabilities.resourceTypes]),
      [["kept", ["folder", "book"]]],
    );
  });
});

describe("A strategy that is declared for some types only", () => {
  it("is not loaded to choose the strategy of a resource of another type", async () => {
    const registry = registryWithTypes();
    const loaded: string[] = [];
    registry.declare({
      name: "maps",
      only: ["atlas"],
      load: async () => {
        loaded.push("maps");
        return { strategy: strategyFor(["atlas"], { name: "maps" }) };
      },
    });
    const namesFor = async (type: string, lineage: readonly string[]) => {
      const { strategies } = await registry.listFor(resource(type, lineage), lineage);
      return (await Array.fromAsync(strategies)).map(({ name }) => name);
    };
    assert.deepEqual(await namesFor("book", ["book"]), ["kept"]);
    assert.deepEqual(loaded, []);
    assert.deepEqual(await namesFor("world", ["world", "atlas"]), ["kept", "maps"]);
    assert.deepEqual(loaded, ["maps"]);
  });
});

describe("A strategy whose strength is known before it is loaded", () => {
  it("is loaded only if the choice comes to it", async () => {
    const registry = new SandboxStrategyRegistry();
    const loaded: string[] = [];
    for (const [name, strength] of Object.entries({ weak: 1, strong: 3, middle: 2 }))
      registry.declare({
        ...{ name, strength },
        load: async () => {
          loaded.push(name);
          return { strategy: strategyFor(["folder"], { name }) };
        },
      });
    const { strategies } = await registry.listFor(resource("folder"), ["folder"]);
    assert.deepEqual(loaded, []);
    for await (const { name } of strategies) if (name === "middle") break;
    assert.deepEqual(loaded, ["strong", "middle"]);
  });
});

describe("The guard around a strategy", () => {
  /** A registry that knows `kept` with these members. */
  const withMembers = (members: object) => {
    const registry = new SandboxStrategyRegistry();
    registry.register(strategyFor(["folder"], members));
    return registry.guarded("kept");
  };

  it("answers for what the strategy lacks", async () => {
    const kept = withMembers({});
    assert.deepEqual(
      await Promise.all([kept.notes(ref({})), kept.environment(ref({})), kept.path(ref({}))]),
      [[], {}, undefined],
    );
    assert.deepEqual(await kept.probe(resource("folder")), { works: true });
    assert.equal(await kept.enter(ref({})), undefined);
    await assert.rejects(kept.query(ref({}), "SELECT 1", { readOnly: true }), { code: "NO_QUERY" });
    const transaction = { id: "t", planId: "p", direction: "commit" } as const;
    await assert.rejects(kept.prepare(ref({}), transaction), {
      name: "UnsupportedError",
      message: /no prepare/,
    });
  });

  it("shows programs what is at the path of a strategy without views", async () => {
    const kept = withMembers({ path: async () => "/work" });
    assert.deepEqual(await kept.enter(ref({})), { kind: "place", path: "/work" });
  });

  it("refuses a path that leads outside before the strategy sees it", async () => {
    await assert.rejects(withMembers({}).read(ref({}), "../secret"), { code: "BAD_PATH" });
  });

  it("lets another version only roll back and remove", async () => {
    const kept = withMembers({ version: "2" });
    const old = { ...ref({}), madeWith: { version: "1" } };
    await assert.rejects(kept.diff(old), { code: "STRATEGY_CHANGED" });
    await assert.rejects(kept.assertUsable(old), { code: "STRATEGY_CHANGED" });
    assert.equal(await kept.isOtherVersion(old), true);
    await kept.rollback(old);
    await kept.cleanup(old);
  });

  it("names the strategy and the method in what it throws", async () => {
    const kept = withMembers({
      rollback: () => {
        throw new TypeError("no such thing");
      },
    });
    await assert.rejects(kept.rollback(ref({})), {
      name: "SandboxRollbackError",
      message: "rollback of the strategy kept failed: no such thing",
    });
  });
});
