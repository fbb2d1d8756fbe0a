import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";
import {
  type ConfigEntry,
  configText,
  identityFrom,
  logsRefs,
  splitNul,
  takenOver,
} from "./repository-config.ts";

describe("configText", () => {
  it("writes what git reads back, whatever is in it", () => {
    const entries: ConfigEntry[] = [
      { key: "user.name", value: ' Ann "the\\one"; # é\tx ' },
      { key: 'filter.a "b\\c".d.clean', value: "sed 's/\"/\\\\/'\nnext" },
      { key: "core.symlinks" },
      { key: "core.eol", value: "" },
    ];
    const folder = mkdtempSync(join(tmpdir(), "drydock-config-text-"));
    try {
      writeFileSync(join(folder, "config"), configText(entries));
      const said = execFileSync("git", ["config", "-f", join(folder, "config"), "-z", "--list"]);
      const read = splitNul(said).map((entry) => {
        const end = entry.indexOf("\n");
        return end < 0 ? { key: entry } : { key: entry.slice(0, end), value: entry.slice(end + 1) };
      });
      assert.deepEqual(read, entries);
    } finally {
      rmSync(folder, { recursive: true });
    }
  });
});

describe("takenOver", () => {
  it("keeps settings that decide the stored bytes, and none that leads elsewhere or runs programs", () => {
    const keys = [
      "user.name",
      "core.autocrlf",
      "filter.lfs.clean",
      "merge.ours.driver",
      "core.excludesfile",
      "remote.origin.url",
      "core.hookspath",
      "core.fsmonitor",
      "core.sshcommand",
      "core.worktree",
      "core.bare",
      "credential.helper",
      "url.x.insteadof",
      "alias.st",
      "include.path",
      "extensions.worktreeconfig",
      "diff.external",
      "gpg.program",
    ];
    const taken = takenOver(keys.map((key) => ({ key, value: "x" })));
    assert.deepEqual(
      taken.map(({ key }) => key),
      ["user.name", "core.autocrlf", "filter.lfs.clean", "merge.ours.driver", "core.excludesfile"],
    );
  });
});

describe("identityFrom", () => {
  it("is the last that was said, or Drydock's own where name or address is missing", () => {
    const name = { key: "user.name", value: "Ann" };
    const email = { key: "user.email", value: "ann@example.com" };
    const ours = { name: "Drydock", email: "drydock@localhost" };
    assert.deepEqual(identityFrom([name, email]), { name: "Ann", email: "ann@example.com" });
    assert.deepEqual(identityFrom([name, { ...name, value: "Bo" }, email]), {
      name: "Bo",
      email: "ann@example.com",
    });
    assert.deepEqual(identityFrom([name]), ours);
    assert.deepEqual(identityFrom([name, { key: "user.email", value: " " }]), ours);
  });
});

describe("logsRefs", () => {
  it("is so unless it is switched off", () => {
    assert.equal(logsRefs([]), true);
    assert.equal(logsRefs([{ key: "core.logallrefupdates" }]), true);
    assert.equal(logsRefs([{ key: "core.logallrefupdates", value: "always" }]), true);
    assert.equal(logsRefs([{ key: "core.logallrefupdates", value: "false" }]), false);
  });
});
