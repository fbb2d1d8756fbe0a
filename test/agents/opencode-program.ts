import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { cpSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { createInterface } from "node:readline";
import { describe, it } from "node:test";
import { program, Workplace } from "../end-to-end/workplace.ts";
import { projectRoot, TemporaryFolder } from "../project/project-copy.ts";
import { installPackage, OPENCODE_VERSION } from "./npm-tool.ts";

const OPENCODE = `opencode-linux-${process.arch}`;
const PLUGIN = 'export { drydockWorkspaces } from "drydock-sandbox/opencode";\n';
const PATIENCE_MS = 60_000;

/** Puts the packages of plugins beside a plugin: opencode would install them by itself. */
function bringPackages(tools: TemporaryFolder, folder: string): void {
  const filter = (path: string) => !path.includes("/opencode-linux-");
  for (const name of ["node_modules", "package.json", "package-lock.json"])
    cpSync(join(tools.path, name), join(folder, name), { recursive: true, filter });
}

/** A server of opencode. */
class OpencodeServer implements AsyncDisposable {
  readonly #url: string;
  readonly #directory: string;
  readonly #end: () => Promise<void>;

  private constructor(url: string, directory: string, end: () => Promise<void>) {
    this.#url = url;
    this.#directory = directory;
    this.#end = end;
  }

  static async start(file: string, directory: string, env: NodeJS.ProcessEnv): Promise<OpencodeServer> {
    const child = spawn(file, ["serve", "--port", "0"], {
      cwd: directory,
      env,
      stdio: ["ignore", "pipe", "ignore"],
    });
    const ended = once(child, "close");
    const end = async () => {
      child.kill("SIGKILL");
      await ended;
    };
    for await (const line of createInterface(child.stdout)) {
      const url = /listening on (http:\S+)/.exec(line)?.[1];
      if (url === undefined) continue;
      child.stdout.resume();
      return new OpencodeServer(url, directory, end);
    }
    await end();
    assert.fail("opencode ended before it listened");
  }

  // biome-ignore lint/suspicious/noExplicitAny: what comes out is what the test looks at
  async call(method: string, path: string, body?: object): Promise<any> {
    const answer = await fetch(`${this.#url}${path}?directory=${encodeURIComponent(this.#directory)}`, {
      method,
      signal: AbortSignal.timeout(PATIENCE_MS),
      ...(body !== undefined && {
        body: JSON.stringify(body),
        headers: { "content-type": "application/json" },
      }),
    });
    const text = await answer.text();
    assert.ok(answer.ok, text);
    return JSON.parse(text);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#end();
  }
}

describe("opencode itself", () => {
  it("[P12] loads the plugin, makes a workspace that is the folder of a plan, and removes it", async () => {
    using tools = new TemporaryFolder();
    installPackage(tools.path, `${OPENCODE}@${OPENCODE_VERSION}`);
    installPackage(tools.path, `@opencode-ai/plugin@${OPENCODE_VERSION}`);
    using place = new Workplace();
    const app = place.folder("app", { "a.txt": "old\n" });
    const repository = "git init -q && git add a.txt && git -c user.name=a -c user.email=a@b commit -qm a";
    assert.equal(place.run("sh", ["-c", repository], { cwd: app }).status, 0);
    writeFileSync(join(place.folder("app/.opencode/plugins", {}), "drydock.ts"), PLUGIN);
    symlinkSync(projectRoot, join(place.folder("app/node_modules", {}), "drydock-sandbox"));
    bringPackages(tools, join(app, ".opencode"));
    bringPackages(tools, place.folder("home/.config/opencode", {}));
    const env = {
      ...place.environment,
      PATH: `${dirname(program)}:${place.environment["PATH"]}`,
      ...{ OPENCODE_EXPERIMENTAL_WORKSPACES: "true", OPENCODE_DISABLE_MODELS_FETCH: "1" },
      ...{ OPENCODE_DISABLE_AUTOUPDATE: "1", OPENCODE_DISABLE_DEFAULT_PLUGINS: "1" },
    };
    const file = join(tools.path, "node_modules", OPENCODE, "bin/opencode");
    await using server = await OpencodeServer.start(file, app, env);

    const wanted = { type: "drydock", branch: null, extra: null };
    const made = await server.call("POST", "/experimental/workspace", wanted);
    assert.equal(made.directory, place.answer("plan", "path", made.name).path);
    assert.equal(readFileSync(join(made.directory, "a.txt"), "utf8"), "old\n");
    await server.call("DELETE", `/experimental/workspace/${made.id}`);
    assert.deepEqual(place.answer("plan", "list").plans, []);
  });
});
