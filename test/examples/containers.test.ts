import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import { projectRoot, TemporaryFolder } from "../project/project-copy.ts";

const EXAMPLE = join(projectRoot, "examples/containers");
const FEATURE = join(EXAMPLE, "devcontainer-feature");

describe("The examples for containers", () => {
  it("the feature's script installs a package for the machine, and makes the folder of the state", () => {
    using folder = new TemporaryFolder();
    const prefix = join(folder.path, "usr");
    const bin = join(folder.path, "bin");
    mkdirSync(bin);
    symlinkSync(process.execPath, join(bin, "node"));
    const { status, stdout, stderr } = spawnSync("sh", [join(FEATURE, "install.sh")], {
      encoding: "utf8",
      env: {
        ...{ HOME: folder.path, PATH: `${bin}:${prefix}/bin:${process.env["PATH"]}`, PACKAGE: projectRoot },
        ...{ npm_config_prefix: prefix, npm_config_ignore_scripts: "true", npm_config_offline: "true" },
        ...{ DRYDOCK_STATE_FOLDER: join(folder.path, "state"), _REMOTE_USER: String(process.getuid?.()) },
      },
    });
    assert.equal(status, 0, stderr);
    assert.match(stdout, /0\.1\.0\n$/);
    assert.ok(existsSync(join(prefix, "bin/drydock")));
    assert.ok(existsSync(join(folder.path, "state")));
  });

  it("the feature's script refuses a container without a Node that is new enough", () => {
    using folder = new TemporaryFolder();
    symlinkSync("/bin/sed", join(folder.path, "sed"));
    const { status, stderr } = spawnSync("/bin/sh", [join(FEATURE, "install.sh")], {
      encoding: "utf8",
      env: { PATH: folder.path },
    });
    assert.deepEqual([status, /Node 24 or newer/.test(stderr)], [1, true], stderr);
  });

  it("the feature says what a command needs, and the Dockerfile only what Docker knows", () => {
    const feature = JSON.parse(readFileSync(join(FEATURE, "devcontainer-feature.json"), "utf8"));
    assert.deepEqual([feature.id, feature.capAdd], ["drydock", ["SYS_ADMIN"]]);
    const lines = readFileSync(join(EXAMPLE, "Dockerfile"), "utf8").replaceAll(/\\\n/g, " ").split("\n");
    const words = lines
      .filter((line) => line !== "" && !line.startsWith("#"))
      .map((line) => line.split(" ")[0]);
    assert.deepEqual(words, ["FROM", "RUN", "ARG", "COPY", "RUN", "ENV", "VOLUME", "WORKDIR", "USER"]);
  });
});
