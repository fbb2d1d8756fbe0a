import assert from "node:assert/strict";
import { chmodSync, existsSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, it } from "node:test";
import { PROFILE_NAMES } from "../../src/core/values/run-policy.ts";
import { CONNECT, Daemon } from "./daemon.ts";
import { ANY_ACTOR, Stage } from "./stage.ts";

const SECRET = "the-secret-of-the-user";
const KEY = "the-key-of-the-agent";

/** What each agent keeps in the home, and a variable that it logs in with. */
const AGENTS: { readonly [name: string]: { readonly kept: readonly string[]; readonly key: string } } = {
  claude: { kept: [".claude"], key: "ANTHROPIC_API_KEY" },
  codex: { kept: [".codex"], key: "OPENAI_API_KEY" },
  gemini: { kept: [".gemini"], key: "GEMINI_API_KEY" },
  opencode: {
    kept: [".local/share/opencode", ".local/state/opencode", ".config/opencode"],
    key: "OPENCODE_API_KEY",
  },
  goose: { kept: [".local/share/goose", ".local/state/goose", ".config/goose"], key: "GOOSE_API_KEY" },
  aider: { kept: [".aider"], key: "AIDER_API_KEY" },
};

/** A program of each family of tools, and a cache of it. */
const TOOLS: { readonly [profile: string]: readonly [program: string, cache: string] } = {
  node: ["npm", ".npm"],
  python: ["uv", ".cache/uv"],
  rust: ["cargo", ".cargo/registry"],
  go: ["go", "go/pkg/mod"],
};

/** Files of other tools that hold credentials. */
const CREDENTIALS = [
  ...[".ssh/id_rsa", ".gnupg/private", ".netrc", ".git-credentials", ".config/gh/hosts.yml", ".npmrc"],
  ...[".pypirc", ".cargo/credentials.toml", ".aws/credentials", ".azure/token", ".kube/config"],
  ...[".docker/config.json", ".config/gcloud/token", ".vault-token", ".pgpass", ".my.cnf", ".bash_history"],
];

const VARIABLES = Object.fromEntries(
  ["GITHUB_TOKEN", "AWS_SESSION", "DB_PASSWORD", "SOME_API_KEY", "DATABASE_URL", "X_PRIVATE_KEY"].map(
    (name) => [name, SECRET],
  ),
);

/** A home with credentials, and programs by the names of agents and tools that run a script. */
class Desk extends Stage {
  /** Runs a script inside, as the program of this name. */
  as(name: string, script: string, options: readonly string[] = [], env: NodeJS.ProcessEnv = {}) {
    this.write(`home/bin/${name}`, `#!/bin/sh\n${script}\n`);
    chmodSync(join(this.home, "bin", name), 0o755);
    for (const path of CREDENTIALS) this.write(`home/${path}`, `${SECRET}\n`);
    this.give();
    const PATH = `${join(this.home, "bin")}:${process.env["PATH"]}`;
    return this.drydock(["run", "--discard", ...options, "--", name], {
      env: { ...VARIABLES, ...env, PATH },
    });
  }
}

/** The same for grep, which so does not find the script that it is in. */
const PATTERN = SECRET.replace("-of-", "[-]of-");

/** Looks for the secret by names, contents, and the environments of all processes. */
const LOOK = `grep -rs ${PATTERN} ~ .; cat ${CREDENTIALS.map((path) => `~/${path}`).join(" ")} 2>&1
  env; for each in /proc/[0-9]*/environ; do tr '\\0' '\\n' < $each; done 2> /dev/null`;

for (const actor of ANY_ACTOR)
  describe(`The built-in profiles, for ${actor}`, () => {
    it("are all tested here", () => {
      assert.deepEqual([...PROFILE_NAMES].toSorted(), [...Object.keys({ ...AGENTS, ...TOOLS })].toSorted());
    });

    for (const [name, { kept, key }] of Object.entries(AGENTS)) {
      const folders = kept.map((path) => `~/${path}`).join(" ");
      const work = `${LOOK}; for at in ${folders}; do mkdir -p $at; echo state > $at/login; done; echo 1 > ~/else`;

      it(`[I1] [I3] keep the state of ${name}, and the credentials of other tools from it, by its name alone`, () => {
        using desk = new Desk(actor);
        const { stdout, stderr, status } = desk.as(name, work, [], { [key]: KEY });
        assert.equal(status, 0, stderr);
        assert.ok(!stdout.includes(SECRET), stdout);
        assert.ok(stdout.includes(`${key}=${KEY}`), "it has its own key");
        for (const path of kept)
          assert.equal(readFileSync(join(desk.home, path, "login"), "utf8"), "state\n", path);
        assert.equal(existsSync(join(desk.home, "else")), false);
        const explain = ["--json", "run", "--explain", "--network", "allow", "--", name];
        const told = JSON.parse(desk.drydock(explain).stdout);
        const from = new Set(told.reachable.map((line: { readonly from: string }) => line.from));
        assert.deepEqual([told.profiles, [...from]], [[name], [`the profile ${name}`]]);
      });
    }

    it("[I3] show the credentials to the looks of these tests, and keep nothing, if they are off", () => {
      using desk = new Desk(actor);
      const work = `${LOOK}; mkdir -p ~/.claude; echo state > ~/.claude/login; exit 0`;
      const { stdout, stderr } = desk.as("claude", work, ["--profile", "none"]);
      for (const path of CREDENTIALS) assert.ok(stdout.includes(`/${path}:${SECRET}`), `${path}: ${stderr}`);
      for (const name of Object.keys(VARIABLES)) assert.ok(stdout.includes(`${name}=${SECRET}`), name);
      assert.equal(existsSync(join(desk.home, ".claude")), false);
    });

    for (const [profile, [program, cache]] of Object.entries(TOOLS))
      it(`[I2] share the caches of ${profile} with the next plan, by the name of a tool alone, and not the user's own`, () => {
        using desk = new Desk(actor);
        const fill = `mkdir -p ~/${cache}; ls ~/${cache}; : > ~/${cache}/package`;
        assert.equal(desk.as(program, fill, ["--profile", "none"]).status, 0);
        const first = desk.as(program, fill);
        assert.equal(first.stdout, "", `${first.stdout}${first.stderr}`);
        assert.equal(desk.as(program, fill).stdout, "package\n");
        assert.equal(existsSync(join(desk.home, cache, "package")), false);
      });

    it("[I3] [I6] lines about variables give a command what they allow and set, and nothing else by any name", () => {
      using desk = new Desk(actor);
      const env = { OTHER: SECRET, LC_KEPT: "kept", LC_HIDDEN: SECRET };
      const open = desk.as("probe", LOOK, [], env);
      for (const name of ["OTHER", "LC_KEPT", "LC_HIDDEN"]) assert.ok(open.stdout.includes(`${name}=`), name);
      const lines = 'allow: [PATH, HOME, "LC_*"], deny: [LC_HIDDEN], set: { MODE: safe }';
      desk.write("home/.config/drydock/config.yaml", `run: { env: { ${lines} } }\n`);
      const { stdout } = desk.as("probe", LOOK, [], env);
      const names = new Set([...stdout.matchAll(/^([A-Z]\w*)=/gm)].map(([, name]) => name));
      for (const name of [...Object.keys(VARIABLES), "OTHER", "LC_HIDDEN"]) assert.ok(!names.has(name), name);
      for (const line of ["LC_KEPT=kept", "MODE=safe"]) assert.ok(stdout.includes(line), line);
    });

    for (const [socket, path] of [
      ["gpg_agent", "gnupg/S.gpg-agent"],
      ["docker", "docker.sock"],
      ["docker", "podman/podman.sock"],
      ["wayland", "wayland-0"],
    ] as const)
      it(`[X7] a line about ${socket} is the way to ${path} in the runtime folder, and there is no other`, {
        skip: process.geteuid?.() !== 0 && "only root makes a socket in /run",
      }, () => {
        using desk = new Desk(actor);
        using daemon = new Daemon("/run", path);
        const env = { XDG_RUNTIME_DIR: daemon.folder, WAYLAND_DISPLAY: "wayland-0" };
        const call = `for path in ${daemon.path} /proc/1/root${daemon.path} /var${daemon.path}; do
          ${CONNECT} "$path" && echo reached; done; ls ${dirname(daemon.path)}; exit 0`;
        const reached = (config: string) => {
          desk.write("home/.config/drydock/config.yaml", config);
          return desk.as("probe", call, [], env).stdout.includes("reached");
        };
        assert.equal(reached("run: {}\n"), false);
        assert.equal(reached(`run: { sockets: { ${socket}: true } }\n`), true);
        assert.equal(reached("run: { sockets: { ssh_agent: true } }\n"), false);
      });
  });
