import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import {
  chmodSync,
  chownSync,
  mkdirSync,
  mkdtempSync,
  realpathSync,
  rmSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, it } from "node:test";
import { locateConfig } from "./find.ts";
import { nearestConfig } from "./nearest-config.ts";
import { TrustStore } from "./trust/trust.ts";

const isRoot = process.getuid?.() === 0;
/** Leaves a socket behind. */
const BIND =
  "require('net').createServer().listen(process.argv[1], () => process.kill(process.pid, 'SIGKILL'))";

let folder: string;
let project: string;
let below: string;
let config: string;
let trusted: TrustStore;

beforeEach(() => {
  folder = realpathSync(mkdtempSync(join(tmpdir(), "drydock-find-")));
  project = join(folder, "project");
  below = join(project, "src", "deep");
  config = join(project, "drydock.yaml");
  mkdirSync(below, { recursive: true });
  const user = { uid: process.getuid?.() ?? -1, gid: process.getgid?.() ?? -1 };
  trusted = new TrustStore({ stateDir: join(folder, "state"), user, now: () => new Date() });
});

afterEach(() => rmSync(folder, { recursive: true, force: true }));

function write(path: string, text: string): void {
  writeFileSync(path, text);
  chmodSync(path, 0o644);
}

describe("locateConfig, with a path that the user names", () => {
  it("[X6] takes it without asking for trust, relative to the current folder", () => {
    write(join(project, "other.yml"), "sandbox: {}\n");
    assert.deepEqual(locateConfig({ explicit: "../other.yml", cwd: join(project, "src"), trusted }), {
      kind: "found",
      file: join(project, "other.yml"),
      text: "sandbox: {}\n",
    });
  });

  it("[X6] takes it before one that is found", () => {
    write(config, "found: 1\n");
    trusted.trust(config);
    write(join(folder, "named.yaml"), "named: 1\n");
    const located = locateConfig({ explicit: join(folder, "named.yaml"), cwd: project, trusted });
    assert.equal(located.kind === "found" && located.text, "named: 1\n");
  });

  it("[X5] refuses one that is empty, missing, no file, too large, or behind a file", () => {
    const locate = (explicit: string) => () => locateConfig({ explicit, cwd: project, trusted });
    assert.throws(locate(""), { name: "UsageError", message: /is empty/ });
    assert.throws(locate("none.yaml"), {
      name: "ConfigError",
      code: "NO_CONFIG",
      message: `There is no config at ${project}/none.yaml.`,
    });
    assert.throws(locate("src"), { name: "ConfigError", message: /not a regular file/ });
    write(config, "");
    assert.throws(locate("drydock.yaml/x"), { name: "ConfigError", message: /There is no config/ });
    truncateSync(config, 1024 * 1024 + 1);
    assert.throws(locate("drydock.yaml"), {
      name: "ConfigError",
      message: /larger than 1048576 bytes/,
      hint: /1 MiB/,
    });
    symlinkSync("loop", join(project, "loop"));
    assert.throws(locate("loop"), { name: "ConfigError", message: /cannot be read: .*ELOOP/ });
  });
});

describe("locateConfig, without one", () => {
  it("finds nothing where there is nothing", () => {
    assert.equal(nearestConfig("/"), undefined);
    assert.deepEqual(locateConfig({ cwd: "/", trusted }), { kind: "none" });
  });

  it("[X6] ignores the nearest one upward until it is trusted, with one line that says so", () => {
    write(config, "sandbox: {}\n");
    assert.deepEqual(locateConfig({ cwd: below, trusted }), {
      kind: "ignored",
      file: config,
      notice: `ignoring ${config}: not trusted`,
      remedy: "trust",
    });
    trusted.trust(config);
    assert.deepEqual(locateConfig({ cwd: below, trusted }), {
      kind: "found",
      file: config,
      text: "sandbox: {}\n",
    });
  });

  it("[X6] ignores one that changed since it was trusted, until it is trusted again", () => {
    write(config, "sandbox: {}\n");
    trusted.trust(config);
    write(config, "sandbox: { allow_setid: true }\n");
    const located = locateConfig({ cwd: below, trusted });
    assert.deepEqual(located, {
      kind: "ignored",
      file: config,
      notice: `ignoring ${config}: changed since it was trusted`,
      remedy: "trust-again",
    });
    trusted.trust(config);
    assert.equal(locateConfig({ cwd: below, trusted }).kind, "found");
  });

  it("[X6] lets an untrusted config below hide a trusted one above, so that neither speaks", () => {
    write(config, "sandbox: {}\n");
    trusted.trust(config);
    write(join(below, "drydock.yaml"), "sandbox: { allow_devices: true }\n");
    assert.equal(locateConfig({ cwd: below, trusted }).kind, "ignored");
    assert.equal(locateConfig({ cwd: join(project, "src"), trusted }).kind, "found");
  });

  it("[X6] does not look into an untrusted config, whatever it holds", () => {
    write(config, ": [ not yaml \0");
    truncateSync(config, 5 * 1024 * 1024);
    assert.equal(locateConfig({ cwd: below, trusted }).kind, "ignored");
    rmSync(config);
    assert.equal(spawnSync("mkfifo", ["-m", "644", config]).status, 0);
    assert.equal(locateConfig({ cwd: below, trusted }).kind, "ignored");
  });

  it("[X6] knows a trusted config behind a planted link by its own place, not by the link's", () => {
    write(config, "resources: { app: { location: ./app } }\n");
    trusted.trust(config);
    const clone = join(folder, "clone");
    mkdirSync(clone);
    symlinkSync(config, join(clone, "drydock.yaml"));
    const located = locateConfig({ cwd: clone, trusted });
    assert.equal(located.kind === "found" && located.file, config);
  });

  it("[X6] is not stopped by a link that leads nowhere or in circles", () => {
    write(config, "sandbox: {}\n");
    trusted.trust(config);
    for (const target of ["nowhere", "drydock.yaml"]) {
      symlinkSync(target, join(below, "drydock.yaml"));
      assert.equal(locateConfig({ cwd: below, trusted }).kind, "found", target);
      rmSync(join(below, "drydock.yaml"));
    }
  });

  it("[X6] ignores one that others can write or that is another's, and says why", () => {
    write(config, "sandbox: {}\n");
    trusted.trust(config);
    chmodSync(config, 0o666);
    const open = locateConfig({ cwd: below, trusted });
    assert.match(open.kind === "ignored" ? open.notice : "", /^ignoring .*: everybody can write it$/);
    chmodSync(config, 0o644);
    if (!isRoot) return;
    chownSync(config, 65534, 65534);
    const foreign = locateConfig({ cwd: below, trusted });
    assert.match(
      foreign.kind === "ignored" ? foreign.notice : "",
      /: it belongs to another user \(uid 65534\)$/,
    );
  });
});

describe("a start without a config", () => {
  it("loads neither the YAML parser nor the schema", () => {
    const url = (path: string) => JSON.stringify(new URL(path, import.meta.url).href);
    const script = `
      import { registerHooks } from "node:module";
      const loaded = [];
      registerHooks({ resolve: (name, context, next) => { loaded.push(name); return next(name, context); } });
      const { locateConfig } = await import(${url("./find.ts")});
      const { TrustStore } = await import(${url("./trust/trust.ts")});
      await import(${url("./settings.ts")});
      await import(${url("./duration.ts")});
      const trusted = new TrustStore({ stateDir: "/nowhere", user: { uid: 0, gid: 0 }, now: () => new Date() });
      console.log(locateConfig({ cwd: "/", trusted }).kind, loaded.some((name) => /settings/.test(name)),
        loaded.filter((name) => /^(zod|yaml|koffi)/.test(name)).join());`;
    const { stdout, stderr } = spawnSync(process.execPath, ["--input-type=module", "-e", script], {
      encoding: "utf8",
    });
    assert.equal(stdout, "none true \n", stderr);
  });
});

describe("a drydock.yaml that is not a regular file", () => {
  const kinds: readonly (readonly [kind: string, make: () => void])[] = [
    ["a fifo", () => void spawnSync("mkfifo", [config])],
    ["a socket", () => void spawnSync(process.execPath, ["-e", BIND, config])],
    ["a folder", () => void mkdirSync(config)],
    ["a link to a device", () => symlinkSync("/dev/zero", config)],
  ];
  for (const [kind, make] of kinds)
    it(`[X6] is refused by its name, and ignored with a line where it is found, when it is ${kind}`, () => {
      make();
      const refusal = { name: "ConfigError", message: /is not a regular file/, hint: /path of a file/ };
      assert.throws(() => locateConfig({ explicit: config, cwd: project, trusted }), refusal);
      const located = locateConfig({ cwd: below, trusted });
      assert.match(
        located.kind === "ignored" ? located.notice : located.kind,
        /drydock\.yaml: .*(?:not a regular file|other user)/,
      );
      assert.throws(() => trusted.trust(config), { name: "ConfigError" });
    });

  it("[X6] is ignored when it was one, and was trusted", () => {
    write(config, "sandbox: {}\n");
    trusted.trust(config);
    rmSync(config);
    spawnSync("mkfifo", [config]);
    const located = locateConfig({ cwd: below, trusted });
    assert.match(
      located.kind === "ignored" ? located.notice : located.kind,
      /ignoring .*: it is not a regular file/,
    );
  });
});
