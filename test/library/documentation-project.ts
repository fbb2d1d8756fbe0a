import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { PACKAGE_FLAGS } from "../end-to-end/workplace.ts";
import { COMPILED } from "../support/compile-cache.ts";
import { removeFolder } from "../support/remove-folder.ts";

const root = join(import.meta.dirname, "../..");

/** An example of a page: the code, and what it prints. */
export interface Example {
  /** The heading it stands under. */
  readonly heading: string;
  readonly code: string;
  readonly output: string;
}

/** The `ts` blocks of a page, each with the `text` block that follows it. */
export function examplesOf(page: string): Example[] {
  const text = readFileSync(join(root, page), "utf8");
  return [...text.matchAll(/^```ts\n(.*?)^```\n+```text\n(.*?)^```$/gms)].map((match) => ({
    heading: [...text.slice(0, match.index).matchAll(/^#+ (.+)$/gm)].at(-1)?.[1] ?? "",
    code: match[1] as string,
    output: match[2] as string,
  }));
}

/**
 * The examples in the comments of a file of the source, and the `ts` blocks of a page: what is only compiled.
 */
export function snippetsOf(path: string): string[] {
  const text = readFileSync(join(root, path), "utf8").replace(/^ +[*] ?/gm, "");
  return [...text.matchAll(/^```ts\n(.*?)^```$/gms)].map(([, code = ""]) => code);
}

/** The files of the source whose comments have examples. */
export function filesWithExamples(): string[] {
  return readdirSync(join(root, "src"), { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(".ts"))
    .map((name) => `src/${name}`)
    .filter((path) => /^ +[*] @example$/m.test(readFileSync(join(root, path), "utf8")));
}

/** How many `ts` blocks a page has, with or without an output. */
export function blocksOf(page: string): number {
  return [...readFileSync(join(root, page), "utf8").matchAll(/^```ts$/gm)].length;
}

/** A project of somebody who uses the built package, with the examples as its modules. */
export class DocumentationProject implements Disposable {
  readonly path = mkdtempSync(join(tmpdir(), "drydock-library-"));

  /** `packages`: what else is installed there; `files`: what else is in it. */
  constructor(
    examples: readonly Example[],
    {
      packages = [],
      files = {},
    }: { readonly packages?: readonly string[]; readonly files?: { readonly [name: string]: string } } = {},
  ) {
    mkdirSync(join(this.path, "node_modules"));
    for (const name of packages)
      symlinkSync(join(root, "node_modules", name), join(this.path, "node_modules", name));
    for (const [name, text] of Object.entries(files)) writeFileSync(join(this.path, name), text);
    symlinkSync(root, join(this.path, "node_modules/drydock-sandbox"));
    symlinkSync(join(root, "node_modules/@types"), join(this.path, "node_modules/@types"));
    writeFileSync(join(this.path, "package.json"), JSON.stringify({ type: "module" }));
    writeFileSync(
      join(this.path, "tsconfig.json"),
      JSON.stringify({
        extends: join(root, "tsconfig.json"),
        // The source is read and checked a dozen times as long as the types that the package has.
        compilerOptions: { customConditions: [] },
        include: ["*.ts"],
      }),
    );
    examples.forEach((example, at) => {
      writeFileSync(this.#module(at), example.code);
    });
  }

  /** What the compiler has to say of the examples, against the types of the package. */
  check(): string[] {
    const tsc = join(root, "node_modules/typescript-7/bin/tsc");
    const { stdout, stderr } = spawnSync(process.execPath, [tsc, "-p", this.path], { encoding: "utf8" });
    return (stdout + stderr).split("\n").filter((line) => /^error|example-\d+[.]ts/.test(line));
  }

  /** Runs an example in a folder of its own, and returns what it prints. */
  run(at: number): { readonly output: string; readonly errors: string; readonly status: number | null } {
    const cwd = mkdtempSync(join(this.path, "run-"));
    mkdirSync(join(cwd, "website"));
    mkdirSync(join(cwd, "settings"));
    writeFileSync(join(cwd, "website/index.html"), "<h1>Old</h1>\n");
    writeFileSync(join(cwd, "website/old.html"), "<h1>Older</h1>\n");
    writeFileSync(join(cwd, "settings/port"), "80\n");
    const result = spawnSync(process.execPath, [...PACKAGE_FLAGS, this.#module(at)], {
      cwd,
      encoding: "utf8",
      env: { PATH: process.env["PATH"], HOME: cwd, TMPDIR: cwd, ...COMPILED },
    });
    // An error quotes the line that threw it, which is most of a file of the build.
    const errors = result.stderr.replace(/^(.{300}).*$/gm, "$1…");
    return { output: result.stdout, errors, status: result.status };
  }

  [Symbol.dispose](): void {
    removeFolder(this.path);
  }

  #module(at: number): string {
    return join(this.path, `example-${at}.ts`);
  }
}
