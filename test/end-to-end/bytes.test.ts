import assert from "node:assert/strict";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import { bytesFromPath } from "../../src/core/paths/byte-path.ts";
import { Workplace } from "./workplace.ts";

/** A name that is no text: a byte that is not UTF-8, the end of a line, and an escape of the terminal. */
const NAME = "caf\udce9\n\u001b[1m";
const IN_BASH = "$'caf\\xe9\\n\\e[1m'";
const IN_JSON = "caf\\udce9\\n\\u001b[1m";
const ON_TERMINAL = "caf\\xe9\\n\\u001b[1m";

/** A folder whose name is any bytes, with a file whose name is any bytes. */
function strangeFolder(place: Workplace): string {
  const folder = join(place.path, NAME);
  mkdirSync(bytesFromPath(folder));
  writeFileSync(bytesFromPath(join(folder, NAME)), "old\n");
  return folder;
}

describe("names that are any bytes", () => {
  it("are taken from the command line as they are, and given back as they are", () => {
    using place = new Workplace();
    strangeFolder(place);
    const script = `set -e
      "$DRYDOCK" plan create -r "app"=${IN_BASH} --name fix > id
      printf 'new\\n' | "$DRYDOCK" plan write fix app ${IN_BASH} > written
      cmp <("$DRYDOCK" plan read fix app ${IN_BASH}) <(printf 'new\\n')
      "$DRYDOCK" plan diff fix ${IN_BASH} --name-only > names
      "$DRYDOCK" plan diff fix ${IN_BASH}x --name-only > none
      "$DRYDOCK" plan apply fix > applied
      cat ${IN_BASH}/${IN_BASH} names none`;
    const { status, stdout, stderr } = place.shell(script);
    assert.deepEqual(
      { status, stderr, stdout },
      { status: 0, stderr: "", stdout: `new\napp/${ON_TERMINAL}\n` },
    );
  });

  it("are escaped in JSON, and taken back escaped", () => {
    using place = new Workplace();
    const folder = strangeFolder(place);
    const created = place.drydock([
      "plan",
      "create",
      "-r",
      "app=caf\\udce9\n\u001b[1m",
      "--name",
      "fix",
      "--json",
    ]);
    assert.equal(created.status, 0, created.stderr);
    assert.ok(created.stdout.includes(`/${IN_JSON}"`));
    assert.equal(JSON.parse(created.stdout).resources[0].location, folder);
    place.drydock(["plan", "write", "app", "\\udcff"], { input: "new\n" });
    const { stdout } = place.drydock(["plan", "diff", "--json"]);
    assert.ok(stdout.includes('"path":"\\udcff"'));
    const [{ path }] = JSON.parse(stdout).changes;
    const escaped = JSON.stringify(path).slice(1, -1);
    assert.equal(place.done("plan", "read", "app", escaped), "new\n");
    assert.equal(place.answer("plan", "read", "app", escaped).path, "\udcff");
    assert.equal(place.done("plan", "diff", "--name-only", "fix", escaped), "app/\\xff\n");
  });

  it("may be where the state is kept, where a command is run, and what the config is called", () => {
    using place = new Workplace();
    strangeFolder(place);
    const script = `set -e; cd ${IN_BASH}; printf 'a\\n' > ../file
      export DRYDOCK_STATE_DIR=../${IN_BASH}.state; "$DRYDOCK" init > /dev/null; mv drydock.yaml ../${IN_BASH}.yaml
      "$DRYDOCK" plan create --config ../${IN_BASH}.yaml -r app=.
      cd "$("$DRYDOCK" plan path)"; ls -A | wc -l; cd - > /dev/null
      "$DRYDOCK" --state-dir ../${IN_BASH}.state plan cancel > /dev/null; ls -d ../*.state | wc -l`;
    const { status, stdout, stderr } = place.shell(script);
    assert.deepEqual({ status, stderr }, { status: 0, stderr: "" });
    // The names hold the end of a line, so each counts for two.
    assert.match(stdout, /^[0-9A-Z]{26}\n2\n2\n$/);
  });

  it("do nothing to a terminal, whatever shows them", () => {
    using place = new Workplace();
    strangeFolder(place);
    const script = `"$DRYDOCK" plan create -r ${IN_BASH} --name fix`;
    const refused = place.shell(script);
    assert.equal(refused.status, 2, refused.stdout);
    assert.equal(refused.stderr.split("\n")[0], `error: The name '${ON_TERMINAL}' holds control characters.`);
  });
});
