import assert from "node:assert/strict";
import { mkdirSync, writeFileSync } from "node:fs";
import { DrydockError } from "../../src/index.ts";
import { openServices } from "../../src/runtime.ts";
import type { Services, ServicesOptions } from "../../src/services.ts";
import { AuthorFolder } from "./documented-files.ts";

/** What a config says of one strategy. */
export interface Declaration {
  readonly module: string;
  readonly class?: string;
  readonly options?: object;
  readonly timeout?: string;
}

/**
 * Somebody who uses strategies of his own: the files of the documentation, a document, a folder, and a state
 * directory.
 */
export class Author extends AuthorFolder implements AsyncDisposable {
  readonly #open: Services[] = [];

  constructor() {
    super();
    this.write("notes.json", '{ "title": "Old" }\n');
    mkdirSync(this.at("website"));
    writeFileSync(this.at("website/index.html"), "old\n");
  }

  /** Writes a config that declares these strategies, the first for documents. Returns its path. */
  declare(strategies: { readonly [name: string]: Declaration | string }): string {
    const [first] = Object.keys(strategies);
    // A config is YAML, and JSON is YAML.
    return this.write(
      "drydock.yaml",
      JSON.stringify({
        sandbox: { custom_strategies: strategies },
        resource_types: { "json-document": { extends: "fs-file", sandbox_strategy: first } },
        resources: { notes: { location: "./notes.json", type: "json-document" } },
      }),
    );
  }

  async open(options: ServicesOptions = {}): Promise<Services> {
    const drydock = await openServices({
      stateDir: this.at("state"),
      cwd: this.path,
      config: this.at("drydock.yaml"),
      environment: {},
      ...options,
    });
    this.#open.push(drydock);
    return drydock;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const drydock of this.#open) await drydock.close();
    this[Symbol.dispose]();
  }
}

export const ONE_PHASE = { module: "./document.ts", class: "DocumentStrategy" };
export const TWO_PHASE = { module: "./two-phase-document.ts", class: "TwoPhaseDocumentStrategy" };

/**
 * A plain JavaScript class that does what the documented one does, but for what is given: members of a class
 * body.
 */
export function spoiltDocument(members: string): string {
  return `import { DocumentStrategy } from "./document.ts";
import { TwoPhaseDocumentStrategy } from "./two-phase-document.ts";
export class Spoilt extends TwoPhaseDocumentStrategy { ${members} }
export class SpoiltOnce extends DocumentStrategy { ${members} }
`;
}

/** What a call that goes wrong throws. */
export async function failureOf(action: Promise<unknown>): Promise<DrydockError> {
  try {
    await action;
  } catch (thrown) {
    assert.ok(thrown instanceof DrydockError, `not an error of ours: ${String(thrown)}`);
    return thrown;
  }
  return assert.fail("it did not fail");
}
