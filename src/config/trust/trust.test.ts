import assert from "node:assert/strict";
import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import {
  chmodSync,
  chownSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, it } from "node:test";
import { bytesFromPath, pathFromBytes } from "../../core/paths/byte-path.ts";
import { TrustStore } from "./trust.ts";

const NOBODY = 65534;
const isRoot = process.getuid?.() === 0;
const user = { uid: process.getuid?.() ?? -1, gid: process.getgid?.() ?? -1 };
const now = () => new Date("2026-03-04T05:06:07.008+05:30");

let folder: string;
let stateDir: string;
let config: string;
let store: TrustStore;

beforeEach(() => {
  folder = realpathSync(mkdtempSync(join(tmpdir(), "drydock-trust-")));
  stateDir = join(folder, "state");
  config = join(folder, "drydock.yaml");
  writeFileSync(config, "sandbox: {}\n");
  chmodSync(config, 0o644);
  store = new TrustStore({ stateDir, user, now });
});

afterEach(() => rmSync(folder, { recursive: true, force: true }));

const records = () => join(stateDir, "trusted.json");

/** A process of its own that runs this code with `store` and `config` as here. */
function scriptOf(code: string): string[] {
  const url = (path: string) => JSON.stringify(new URL(path, import.meta.url).href);
  return [
    "--input-type=module",
    "-e",
    `import { TrustStore } from ${url("./trust.ts")};
     import { armFailpoints } from ${url("../../system/failpoints.ts")};
     const config = ${JSON.stringify(config)};
     const store = new TrustStore({ stateDir: ${JSON.stringify(stateDir)}, user: ${JSON.stringify(user)}, now: () => new Date() });
     ${code}`,
  ];
}

describe("TrustStore", () => {
  it("[X6] trusts a config with exactly the content it had", () => {
    assert.equal(store.isTrusted(config, readFileSync(config)), false);
    store.trust(config);
    assert.equal(store.isTrusted(config, readFileSync(config)), true);
    assert.deepEqual(store.readTrusted(config), { trusted: true, text: "sandbox: {}\n" });
    writeFileSync(config, "sandbox: {} \n");
    assert.equal(store.isTrusted(config, readFileSync(config)), false);
    assert.deepEqual(store.readTrusted(config), {
      trusted: false,
      why: "changed since it was trusted",
      remedy: "trust-again",
    });
  });

  it("[X6] trusts a path, not a content: a copy elsewhere is not trusted", () => {
    store.trust(config);
    const copy = join(folder, "copy.yaml");
    writeFileSync(copy, readFileSync(config));
    assert.equal(store.isTrusted(copy, readFileSync(copy)), false);
  });

  it("[L7] keeps the real path, the digest and the time in UTC, for the user alone, and one record for each config", () => {
    symlinkSync("drydock.yaml", join(folder, "link.yaml"));
    const record = store.trust(join(folder, "link.yaml"));
    assert.equal(record.file, config);
    assert.equal(record.trustedAt, "2026-03-03T23:36:07.008Z");
    assert.equal(record.sha256, spawnSync("sha256sum", [config], { encoding: "utf8" }).stdout.split(" ")[0]);
    writeFileSync(config, "resources: {}\n");
    const { file, sha256, trustedAt } = store.trust(config);
    const kept = { version: 1, configs: [{ file, sha256, trustedAt }] };
    assert.deepEqual(JSON.parse(readFileSync(records(), "utf8")), kept);
    assert.deepEqual([statSync(stateDir).mode & 0o777, statSync(records()).mode & 0o777], [0o700, 0o600]);
  });

  it("trusts a config by a name of any bytes", () => {
    const odd = join(folder, pathFromBytes(Buffer.from([0x61, 0xff, 0x20, 0x0a])));
    writeFileSync(bytesFromPath(odd), "sandbox: {}\n");
    chmodSync(bytesFromPath(odd), 0o644);
    const untrusted = store.readTrusted(odd);
    assert.equal(untrusted?.trusted === false && untrusted.remedy, "trust");
    store.trust(odd);
    assert.deepEqual(store.readTrusted(odd), { trusted: true, text: "sandbox: {}\n" });
  });

  it("[X6] never opens a config that was not trusted", () => {
    const script = scriptOf("console.log(store.readTrusted(config).why)");
    const traced = spawnSync(
      "strace",
      ["-f", "-e", "trace=open,openat,openat2", process.execPath, ...script],
      {
        encoding: "utf8",
      },
    );
    assert.equal(traced.stdout, "not trusted\n");
    assert.match(traced.stderr, /trusted\.json/);
    assert.doesNotMatch(traced.stderr, /drydock\.yaml/);
  });

  it("[X6] never trusts a config that everybody or a group can write, and says so", () => {
    store.trust(config);
    for (const [mode, why] of [
      [0o646, "everybody can write it"],
      [0o666, "everybody can write it"],
    ] as const) {
      chmodSync(config, mode);
      const verdict = store.readTrusted(config);
      assert.equal(verdict?.trusted === false && verdict.why, why);
      assert.throws(() => store.trust(config), {
        name: "UsageError",
        message: new RegExp(`cannot be trusted: ${why}`),
      });
    }
    chmodSync(config, 0o664);
    const inGroup = new TrustStore({ stateDir, user: { ...user, gid: user.gid + 1 }, now });
    const verdict = inGroup.readTrusted(config);
    assert.equal(verdict?.trusted === false && verdict.why, `its group (gid ${user.gid}) can write it`);
  });

  it("lets a group write that is the user's own", () => {
    chmodSync(config, 0o664);
    const file = statSync(config);
    const owner = new TrustStore({ stateDir, user: { uid: file.uid, gid: file.gid }, now });
    if (file.uid === file.gid) assert.equal(owner.trust(config).file, config);
    else assert.throws(() => owner.trust(config), { message: /its group/ });
  });

  it("[X6] never trusts a config of another user, and says whose it is", {
    skip: !isRoot && "needs root to give a file away",
  }, () => {
    store.trust(config);
    chownSync(config, NOBODY, NOBODY);
    const verdict = store.readTrusted(config);
    assert.equal(verdict?.trusted === false && verdict.why, `it belongs to another user (uid ${NOBODY})`);
    assert.equal(verdict?.trusted === false && verdict.remedy, "own");
    assert.throws(() => store.trust(config), {
      name: "UsageError",
      message: /belongs to another user/,
      code: "FOREIGN_CONFIG",
    });
  });

  it("takes a config of root", { skip: !isRoot && "needs a file of root" }, () => {
    const someone = new TrustStore({ stateDir, user: { uid: NOBODY, gid: NOBODY }, now });
    assert.equal(someone.trust(config).file, config);
    assert.equal(someone.isTrusted(config, readFileSync(config)), true);
  });

  it("[X5] refuses to trust what is missing, no file, or too large", () => {
    assert.throws(() => store.trust(join(folder, "none.yaml")), {
      name: "ConfigError",
      message: /There is no config at .*none/,
    });
    assert.throws(() => store.trust(folder), { name: "ConfigError", message: /not a regular file/ });
    truncateSync(config, 1024 * 1024 + 1);
    assert.throws(() => store.trust(config), {
      name: "ConfigError",
      message: /larger than/,
      hint: /less than 1 MiB/,
    });
    assert.deepEqual(readdirSync(folder), ["drydock.yaml"]);
  });

  it("knows nothing of a config that is gone", () => {
    store.trust(config);
    rmSync(config);
    assert.equal(store.readTrusted(config), undefined);
  });

  it("refuses records that are damaged, newer, or in others' hands", () => {
    store.trust(config);
    const good = readFileSync(records(), "utf8");
    for (const bad of [
      "",
      "{",
      "[]",
      "null",
      '{"version":1}',
      '{"version":1,"configs":[{"file":1}]}',
      '{"version":1,"configs":[null]}',
    ]) {
      writeFileSync(records(), bad);
      assert.throws(() => store.readTrusted(config), {
        name: "StateError",
        message: /trusted\.json is damaged/,
        hint: /Remove it/,
      });
    }
    writeFileSync(records(), '{"version":2,"configs":[]}');
    assert.throws(() => store.trust(config), {
      name: "StateError",
      message: /newer Drydock/,
      hint: /Update/,
    });
    writeFileSync(records(), good);
    chmodSync(records(), 0o602);
    assert.throws(() => store.isTrusted(config, Buffer.from("")), {
      name: "StateError",
      message: /cannot be relied on: everybody/,
    });
    chmodSync(records(), 0o600);
    chmodSync(stateDir, 0o777);
    assert.throws(() => store.readTrusted(config), {
      name: "StateError",
      message: /state cannot be relied on: everybody/,
    });
  });

  it("keeps what many processes trust at once", async () => {
    const configs = Array.from({ length: 24 }, (_, at) => join(folder, `c${at}.yaml`));
    for (const path of configs) writeFileSync(path, path, { mode: 0o644 });
    const children = [0, 1, 2, 3].map((part): ChildProcess => {
      const own = JSON.stringify(configs.filter((_, at) => at % 4 === part));
      return spawn(process.execPath, scriptOf(`for (const path of ${own}) store.trust(path);`), {
        stdio: "inherit",
      });
    });
    for (const code of await Promise.all(children.map(async (child) => (await once(child, "exit"))[0])))
      assert.equal(code, 0);
    for (const path of configs) assert.equal(store.isTrusted(path, readFileSync(path)), true, path);
    assert.deepEqual(readdirSync(stateDir), ["trusted.json"]);
  });

  it("[A3] keeps the older records when it is killed at any step, and clears up the next time", () => {
    const other = join(folder, "other.yaml");
    writeFileSync(other, "resources: {}\n", { mode: 0o644 });
    store.trust(other);
    for (const trap of [
      "trust.write:1",
      "trust.write:2",
      "record.flush:1",
      "record.replace:1",
      "record.flush:2",
    ]) {
      const { signal } = spawnSync(
        process.execPath,
        scriptOf(`armFailpoints("${trap}=kill"); store.trust(config);`),
      );
      assert.equal(signal, "SIGKILL", trap);
      assert.equal(store.isTrusted(other, readFileSync(other)), true, trap);
      assert.equal(store.isTrusted(config, readFileSync(config)), trap === "record.flush:2", trap);
    }
    const left = readdirSync(stateDir).length;
    store.trust(config);
    assert.ok(left <= 2, "each write sweeps away what the one before it left");
    assert.deepEqual(readdirSync(stateDir), ["trusted.json"]);
  });

  it("[A3] can be gone on with after it is killed where it makes its folder, or clears up", () => {
    const killedAt = (trap: string) => {
      const { signal } = spawnSync(
        process.execPath,
        scriptOf(`armFailpoints("${trap}=kill"); store.trust(config);`),
      );
      assert.equal(signal, "SIGKILL", trap);
    };
    killedAt("trust.state-folder:1");
    assert.deepEqual(readdirSync(folder), ["drydock.yaml"]);
    killedAt("trust.write:2");
    killedAt("record.remove-old:1");
    assert.equal(readdirSync(stateDir).length, 1, "what was not finished is still there");
    store.trust(config);
    assert.deepEqual(readdirSync(stateDir), ["trusted.json"]);
  });

  it("reads without a state directory as without any trust, and makes none", () => {
    const verdict = store.readTrusted(config);
    assert.equal(verdict?.trusted === false && verdict.why, "not trusted");
    assert.deepEqual(readdirSync(folder), ["drydock.yaml"]);
  });

  it("refuses a state directory that is a file", () => {
    writeFileSync(stateDir, "");
    assert.throws(() => store.trust(config), { name: "StateError", message: /is not a folder/ });
    rmSync(stateDir);
    mkdirSync(stateDir, { mode: 0o700 });
    assert.equal(store.trust(config).file, config);
  });
});
