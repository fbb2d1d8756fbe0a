import { spawn } from "node:child_process";
import { once } from "node:events";
import { cpSync, mkdirSync, symlinkSync } from "node:fs";
import { basename, join } from "node:path";
import { projectRoot, TemporaryFolder } from "../project/project-copy.ts";

/** A copy of an example as a user has it, with its dependencies and this package installed. */
export class InstalledExample implements Disposable {
  readonly #folder = new TemporaryFolder();

  static async install(name: string): Promise<InstalledExample> {
    const example = new InstalledExample();
    try {
      cpSync(join(projectRoot, "examples", name), example.path, {
        recursive: true,
        filter: (source) => basename(source) !== "node_modules",
      });
      await run(example.path, "npm", "ci", "--prefer-offline", "--no-audit", "--no-fund");
      mkdirSync(example.at("node_modules"), { recursive: true });
      symlinkSync(projectRoot, example.at("node_modules/drydock-sandbox"));
      return example;
    } catch (thrown) {
      example[Symbol.dispose]();
      throw thrown;
    }
  }

  get path(): string {
    return join(this.#folder.path, "example");
  }

  at(name: string): string {
    return join(this.path, name);
  }

  /** Checks its types against those of this package, as built. */
  async checkTypes(): Promise<void> {
    const compiler = join(projectRoot, "node_modules/typescript-7/bin/tsc");
    const types = ["--typeRoots", join(projectRoot, "node_modules/@types")];
    await run(this.path, process.execPath, compiler, "-p", "tsconfig.json", ...types);
  }

  [Symbol.dispose](): void {
    this.#folder[Symbol.dispose]();
  }
}

async function run(cwd: string, program: string, ...args: readonly string[]): Promise<void> {
  const env = { ...process.env, NODE_DISABLE_COMPILE_CACHE: "1" };
  const child = spawn(program, args, { cwd, env, stdio: ["ignore", "pipe", "pipe"] });
  const said: string[] = [];
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding("utf8").on("data", (text: string) => said.push(text));
  const [code] = await once(child, "close");
  if (code !== 0) throw new Error(`${program} ${args.join(" ")} ended with ${code}: ${said.join("")}`);
}
