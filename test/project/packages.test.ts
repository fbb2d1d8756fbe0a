import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { mkdirSync, readdirSync, readFileSync, renameSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import { IS_LONG } from "../support/long-form.ts";
import { CleanRoot, whyNoCleanRoot } from "./clean-root.ts";
import { projectRoot, runProgram, TemporaryFolder } from "./project-copy.ts";

/** The main job, in the home of whoever runs it. */
const MAIN_JOB = `mkdir folder
echo old > folder/file
drydock plan create --name work -r folder
echo new | drydock plan write work folder file
drydock plan exec work -- sh -c 'echo more > more'
drydock plan diff work
test "$(cat folder/file)" = old
drydock plan apply work
test "$(cat folder/file) $(cat folder/more)" = "new more"
drydock plan undo work
test "$(cat folder/file)" = old
test ! -e folder/more`;

const { version } = JSON.parse(readFileSync(join(projectRoot, "package.json"), "utf8"));

describe("packages with Node inside", () => {
  it("[P13] the tree of the tar.gz does the main job with no Node on PATH, also through a link", () => {
    using folder = new TemporaryFolder();
    make(folder.path, "--tree");
    const [name = ""] = readdirSync(folder.path);
    assert.equal(name, `drydock-${version}-linux-${process.arch}`);
    mkdirSync(join(folder.path, "bin"));
    symlinkSync(join("..", name, "bin/drydock"), join(folder.path, "bin/drydock"));
    const env = { PATH: `${join(folder.path, "bin")}:/usr/bin:/bin`, HOME: folder.path };
    const ended = runProgram("env", ["-i", ...pairs(env), "sh", "-ec", `cd\n${MAIN_JOB}`]);
    assert.equal(ended.status, 0, ended.stdout + ended.stderr);
    const program = join(folder.path, name, "bin/drydock");
    const alone = runProgram("env", ["-i", "PATH=/nonexistent", `HOME=${folder.path}`, program, "version"]);
    assert.deepEqual([alone.stdout, alone.status], [`${version}\n`, 0], alone.stderr);
  });

  if (IS_LONG) {
    it("[P13] are the same to the byte each time they are made", () => {
      using folder = new TemporaryFolder();
      const [one, other] = ["one", "other"].map((name) => digests(join(folder.path, name)));
      assert.deepEqual(one, other);
      assert.equal(one?.size, 2);
    });

    it("[P13] the Debian package works on a Debian that has only what it declares, and leaves nothing there", {
      skip: whyNoCleanRoot(),
    }, () => {
      using folder = new TemporaryFolder();
      make(folder.path, "--compression", "none");
      const [file = ""] = readdirSync(folder.path).filter((name) => name.endsWith(".deb"));
      const field = runProgram("dpkg-deb", ["--field", join(folder.path, file), "Depends"]).stdout;
      const root = new CleanRoot(
        join(folder.path, "root"),
        field.split(",").map((need) => need.trim().split(" ")[0] ?? ""),
      );
      const before = root.entries();
      renameSync(join(folder.path, file), join(root.path, "tmp/drydock.deb"));
      const does = (script: string, who?: "root" | "me") => {
        const { status, stdout, stderr } = root.run(script, who);
        assert.equal(status, 0, `${script}\n${stdout}${stderr}`);
        return stdout + stderr;
      };
      does("! command -v node");
      does("dpkg --install /tmp/drydock.deb; rm /tmp/drydock.deb; dpkg --verify drydock");
      assert.equal(does("drydock version"), `${version}\n`);
      for (const who of ["root", "me"] as const) {
        assert.match(does("drydock doctor || test $? = 1", who), /Strategies/);
        does(MAIN_JOB, who);
      }
      does("gzip -dc /usr/share/man/man1/drydock.1.gz | grep -q '^.TH'");
      does("bash -c '. /usr/share/bash-completion/completions/drydock && complete -p drydock'");
      does("head -1 /usr/share/zsh/vendor-completions/_drydock | grep -q '^#compdef drydock'");
      does("grep -q 'complete -c drydock' /usr/share/fish/vendor_completions.d/drydock.fish");
      for (const holder of ["Drydock contributors", "Node.js", "koffi", "zod", "OpenSSL"])
        does(`grep -q '${holder}' /usr/share/doc/drydock/copyright`);
      does("dpkg --purge drydock; rm -f /var/log/dpkg.log");
      assert.deepEqual(root.entries(), before);
    });
  }
});

function make(out: string, ...args: readonly string[]): void {
  const script = join(projectRoot, "scripts/package.ts");
  const ended = runProgram(process.execPath, [script, "--out", out, ...args]);
  assert.equal(ended.status, 0, ended.stdout + ended.stderr);
}

function digests(out: string): ReadonlyMap<string, string> {
  make(out, "--compression", "none");
  return new Map(
    readdirSync(out).map((name) => [
      name,
      createHash("sha256")
        .update(readFileSync(join(out, name)))
        .digest("hex"),
    ]),
  );
}

function pairs(env: { readonly [name: string]: string }): readonly string[] {
  return Object.entries(env).map(([name, value]) => `${name}=${value}`);
}
