import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { DocumentationProject, filesWithExamples, snippetsOf } from "./documentation-project.ts";

/** The start of a strategy: everything but what its commit takes. */
const METHODS = `
import type {
  Change, CommitResult, DiffView, OnePhaseSandboxStrategy, PreparedCommit, Queryable, Resource, SandboxRef,
  SandboxStrategy, Transaction, TwoPhaseSandboxStrategy,
} from "drydock-sandbox/strategy";
declare const methods: {
  readonly name: string;
  create(planId: string, resource: Resource): Promise<SandboxRef>;
  read(ref: SandboxRef, path: string): Promise<Uint8Array>;
  write(ref: SandboxRef, path: string, bytes: Uint8Array): Promise<Change>;
  diff(ref: SandboxRef): Promise<DiffView>;
  commit(ref: SandboxRef): Promise<CommitResult>;
  rollback(ref: SandboxRef): Promise<void>;
  checkpoint(ref: SandboxRef): Promise<undefined>;
  restoreCheckpoint(ref: SandboxRef): Promise<void>;
  cleanup(ref: SandboxRef): Promise<void>;
};
declare const landing: {
  prepare(ref: SandboxRef, transaction: Transaction): Promise<PreparedCommit | null>;
  commitPrepared(ref: SandboxRef, transaction: Transaction, prepared: PreparedCommit): Promise<CommitResult>;
  rollbackPrepared(ref: SandboxRef, transaction: Transaction, prepared?: PreparedCommit): Promise<undefined>;
};
type Place = { readonly folder: string };
type Staged = { readonly file: string };
export type Used = [SandboxStrategy, OnePhaseSandboxStrategy, Queryable, TwoPhaseSandboxStrategy, typeof landing, Place, Staged];
`;

/** What has to compile. */
const RIGHT = {
  "a one-phase strategy":
    'export const it: SandboxStrategy = { ...methods, capabilities: { commit: "one-phase" } };',
  "a strategy that works in place":
    'export const it: SandboxStrategy = { ...methods, capabilities: { commit: "in-place" } };',
  "a two-phase strategy":
    'export const it: SandboxStrategy = { ...methods, ...landing, capabilities: { commit: "two-phase" } };',
  "a strategy with metadata of its own, where any strategy is taken": `
    declare const mine: TwoPhaseSandboxStrategy<Place, Staged>;
    export const it: SandboxStrategy = mine;`,
  "metadata and what is prepared, by their own types": `
    declare const ref: SandboxRef<Place>;
    declare const prepared: PreparedCommit<Staged>;
    export const it: string = ref.metadata.folder + prepared.data.file;`,
  "an error code, told apart": `
    import type { DrydockError } from "drydock-sandbox";
    export const it = (error: DrydockError): boolean => error.code === "UNKNOWN_PLAN" || error.code === "ENOSPC";`,
  "a notice, told apart": `
    import type { Notice } from "drydock-sandbox";
    export const it = (notice: Notice): string => (notice.kind === "ignored-config" ? notice.file : notice.planId);`,
};

/** What must not compile, with what the compiler has to say of it first. */
const WRONG = {
  "a two-phase strategy without prepare": [
    'export const it: SandboxStrategy = { ...methods, capabilities: { commit: "two-phase" } };',
    /TS2322: Type /,
  ],
  "a two-phase strategy without rollbackPrepared": [
    `const { rollbackPrepared: _, ...some } = landing;
    export const it: TwoPhaseSandboxStrategy = { ...methods, ...some, capabilities: { commit: "two-phase" } };`,
    /TS2741: Property 'rollbackPrepared' is missing/,
  ],
  "a two-phase strategy that says it is one-phase": [
    'export const it: TwoPhaseSandboxStrategy = { ...methods, ...landing, capabilities: { commit: "one-phase" } };',
    /TS2322: Type /,
  ],
  "a class that can be queried and is not": [
    "export declare class It implements Queryable {}",
    /TS2420: Class 'It' incorrectly implements/,
  ],
  "metadata that is no plain data": [
    "export declare const it: SandboxRef<{ readonly when: Date }>;",
    /TS2344: Type /,
  ],
  "an error code that there is not": [
    `import type { DrydockError } from "drydock-sandbox";
    export const it = (error: DrydockError): boolean => error.code === "NO_SUCH_CODE";`,
    /TS2367: This comparison appears to be unintentional/,
  ],
  "an error made with a code that there is not": [
    `import { UsageError } from "drydock-sandbox/strategy";
    export const it = new UsageError("wrong", { code: "NO_SUCH_CODE" });`,
    /Type '"NO_SUCH_CODE"' is not assignable/,
  ],
  "a plan that is not named": [
    `import type { Drydock } from "drydock-sandbox";
    export const it = (drydock: Drydock) => drydock.plans.open(undefined);`,
    /TS2345: Argument of type 'undefined'/,
  ],
} as const;

describe("the types of the library", () => {
  const right = Object.entries(RIGHT).map(([heading, code]) => ({
    heading,
    code: METHODS + code,
    output: "",
  }));
  const wrong = Object.entries(WRONG).map(([heading, [code]]) => ({
    heading,
    code: METHODS + code,
    output: "",
  }));

  it("take what is right, and the examples of comments and of the README", () => {
    const paths = ["README.md", ...filesWithExamples()];
    const snippets = paths.flatMap((path) =>
      snippetsOf(path).map((code) => ({ heading: path, code, output: "" })),
    );
    assert.ok(paths.length > 2 && snippets.length >= paths.length);
    using project = new DocumentationProject([...right, ...snippets]);
    assert.deepEqual(project.check(), []);
  });

  it("refuse what is wrong, for the right reason", () => {
    using project = new DocumentationProject(wrong);
    const said = project.check();
    Object.entries(WRONG).forEach(([heading, [, reason]], at) => {
      const lines = said.filter(
        (line) => line.startsWith(`example-${at}.ts`) || line.includes(`/example-${at}.ts`),
      );
      assert.ok(lines.length > 0, `${heading} compiles`);
      assert.match(lines.join("\n"), reason, heading);
    });
  });
});
