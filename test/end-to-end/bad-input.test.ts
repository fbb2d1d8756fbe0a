import assert from "node:assert/strict";
import { chmodSync, existsSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, afterEach, before, describe, it } from "node:test";
import { assertRefused, program, Workplace } from "./workplace.ts";

const isRoot = process.getuid?.() === 0;
const needsRoot = isRoot ? false : "needs root, to mount";

/** Runs a command as somebody whom permissions bind, which they don't bind root. */
const asBound = isRoot ? ["setpriv", "--bounding-set=-dac_override,-dac_read_search,-fowner"] : [];

describe("bad input on the command line", () => {
  let place: Workplace;
  let pristine: unknown;
  before(() => {
    place = new Workplace();
    place.folder("app", { "a.txt": "a\n", "src/b.txt": "b\n" });
    place.done("plan", "create", "-r", "app", "--name", "one");
    place.done("plan", "create", "-r", "app", "--name", "two");
    pristine = everything();
  });
  afterEach(() => assert.deepEqual(everything(), pristine));
  after(() => place[Symbol.dispose]());

  /** All that bad input could have changed: the original, the plans, and whatever is beside them. */
  function everything(): unknown {
    const sandboxes = readdirSync(join(place.state, "sandboxes")).sort();
    const { plans } = place.answer("plan", "list", "--all");
    const states = plans.map(({ id, name, state }: { [key: string]: string }) => [id, name, state]);
    return [place.tree("app"), states, readdirSync(place.path).sort(), sandboxes];
  }

  function refuses(args: readonly string[], wrong: RegExp, hint?: RegExp): void {
    assertRefused(place.drydock(args), 2, wrong, hint);
    const { status, stdout, stderr } = place.drydock(["--json", ...args]);
    const { error } = JSON.parse(stdout);
    assert.deepEqual(
      { status, stderr, keys: Object.keys(error) },
      { status: 2, stderr: "", keys: ["code", "message", "hint", "details"] },
    );
    assert.match(error.message, wrong);
  }

  const create = (...rest: readonly string[]) => ["plan", "create", "-r", ...rest];

  it("[X4] [L8] refuses a path where nothing is", () => {
    refuses(create("missing"), /There is nothing at missing\./);
    refuses(create("app", "-r", "gone=./also/missing"), /There is nothing at \.\/also\/missing\./);
  });

  it("[X4] [L8] refuses a file where a folder is meant, and the other way round", () => {
    refuses(create("app/a.txt,type=fs-directory"), /a\.txt is a file, not a folder/, /fs-file/);
    refuses(create("app,type=fs-file"), /app is not a file/);
  });

  it("[X2] refuses the root of the file system, the state directory, and a sandbox", () => {
    refuses(create("/"), /it is the root of the file system/);
    refuses(create("state"), /it is in Drydock's own state directory/);
    const { path } = place.answer("plan", "path", "one");
    refuses(create(path), /can't be a resource/);
    refuses(create(join(path, "src")), /can't be a resource/);
  });

  it("[X5] refuses an empty plan, name, path, resource or location", () => {
    for (const command of ["show", "path", "diff", "apply", "rollback", "undo", "cancel"]) {
      refuses(["plan", command, ""], /The name of the plan is empty\./);
    }
    refuses(create("app", "--name", ""), /A name is empty\./);
    refuses(create(""), /has an empty location/);
    refuses(create("app", "-r", "x="), /has an empty location/);
    refuses(["plan", "read", "one", "app", ""], /The path '' is empty\./);
    refuses(["plan", "write", "one", "app", ""], /The path '' is empty\./);
    refuses(["plan", "read", "one", "", "a.txt"], /no resource called ''/);
    refuses(["plan", "diff", "one", ""], /A path is empty\./);
    refuses(["--state-dir", "", "plan", "list"], /The state directory is empty\./);
    refuses(["--config", "", "plan", "list"], /The path of the config is empty\./);
  });

  it("[X5] refuses names with control characters, and shows them harmlessly", () => {
    refuses(create("app", "--name", "a\n\u001b[2Jb"), /'a\\n\\u001b\[2Jb' holds control characters/);
  });

  it("[X5] refuses a path of 4,000 bytes", () => {
    const long = "abcdefghi/".repeat(400);
    refuses(create(long), /is longer than 4000 bytes/);
    refuses(["plan", "read", "one", "app", `${long}x`], /There is no file abcdefghi/);
    refuses(["plan", "read", "one", "app", "a".repeat(300)], /has a name of more than 255 bytes/);
  });

  it("[X1] refuses paths that lead out of a resource", () => {
    for (const path of ["../app/a.txt", "src/../../x", "/etc/passwd"]) {
      refuses(["plan", "read", "one", "app", path], /leads out of the resource|is absolute/);
      refuses(["plan", "write", "one", "app", path], /leads out of the resource|is absolute/);
    }
  });

  it("[X5] refuses a plan that is unknown or ambiguous, and lists the candidates", () => {
    refuses(["plan", "show", "three"], /There is no plan 'three'\./, /drydock plan list/);
    refuses(["plan", "apply", "01"], /2 plans that this could be: \S+ \((?:one|two)\), \S+ \((?:one|two)\)/);
    refuses(["plan", "apply"], /2 plans that this could be/);
    refuses(["plan", "path", "one", "other"], /no resource called 'other'/, /app/);
    refuses(["recover", "one", "--commit"], /Nothing of the plan one is in doubt\./);
  });

  it("[X5] refuses a strategy that is unknown, and two resources that get in each other's way", () => {
    refuses(create("app,strategy=magic"), /There is no strategy called 'magic'\./, /filesystem_copy/);
    refuses(create("app", "-r", "app"), /Two resources are called 'app'\./);
    refuses(
      create("app", "-r", "inner=app/src,type=fs-mount"),
      /overlap, and a fs-mount can't be inside of a fs-directory/,
    );
    refuses(create("app,colour=red"), /'colour', which is no option of a resource/);
  });

  it("[X5] refuses wrong arguments, and suggests the right ones", () => {
    refuses(["plna"], /^(?:error: )?Unknown command 'plna'\./, /Did you mean plan\?/);
    refuses(["plan", "aply"], /Unknown command 'aply'\./, /Did you mean apply\?/);
    refuses(
      ["plan", "list", "--al"],
      /Unknown option '--al'\./,
      /Did you mean --all\?.*'drydock plan list --help'/,
    );
    refuses(["plan", "apply", "--digest"], /argument missing/);
    refuses(["plan", "show", "one", "two"], /Too many arguments/);
    refuses(
      ["plan", "create", "app"],
      /Too many arguments/,
      /with --resource\. 'drydock plan create --help'/,
    );
    refuses(["plan", "read", "one"], /Missing required argument 'RESOURCE'\./);
    refuses(["plan", "diff", "--stat", "--patch"], /cannot be used with/);
    refuses(["plan"], /A command is missing after 'drydock plan'\./, /create, add, list, show/);
    refuses(["help", "nope"], /Unknown command 'nope'\./);
    refuses(["plan", "nope"], /Unknown command 'nope'\./);
    refuses(["recover", "one"], /The decision for the plan is missing/);
    refuses(["recover", "--abort"], /A plan is missing for --abort\./);
    refuses(["review", "one", "-m", "x"], /--message belongs to --request\./);
    refuses(["review", "one", "--request", "--on", "a.txt"], /--on belongs to --comment\./);
    refuses(["review", "one", "--request", "--tty"], /cannot be used with/);
    refuses(["review", "one", "--comment", " "], /A comment has between one and 10000 characters\./);
    refuses(["review", "one", "--comment", "x", "--on", "a.txt:1"], /does not change a\.txt\./, /plan diff/);
  });

  it("[X5] refuses broken YAML and unknown keys, with the line", () => {
    const broken = place.write("broken.yaml", "sandbox:\n  strategy: [auto\n");
    refuses(["--config", broken, ...create("app")], /broken\.yaml:\d+:\d+: /);
    place.write("broken.yaml", "sandbox:\n  stratgy: auto\n");
    refuses(
      ["--config", "broken.yaml", ...create("app")],
      /broken\.yaml:2:3: unknown key stratgy/,
      /Did you mean strategy\?/,
    );
    refuses(["--config", "none.yaml", "plan", "list"], /There is no config at \S+none\.yaml\./);
    place.run("rm", [broken]);
  });

  it("[X4] says so when a folder may not be entered or a file not be read", () => {
    using own = new Workplace();
    own.folder("locked/app", { "a.txt": "a\n" });
    const bound = (...args: readonly string[]) => {
      const [file = "", ...rest] = [...asBound, program, ...args];
      return own.run(file, rest);
    };
    chmodSync(join(own.path, "locked"), 0o000);
    try {
      assertRefused(bound("plan", "create", "-r", "locked/app"), 2, /permission denied/);
      assertRefused(bound("plan", "create", "-r", "locked"), 1, /permission denied/i);
      const nothing = own.answer("plan", "list");
      assert.deepEqual(nothing, { plans: [] });
    } finally {
      chmodSync(join(own.path, "locked"), 0o755);
    }
    assert.deepEqual(own.tree("locked"), { app: "/", "app/a.txt": "a\n" });
    assert.deepEqual(readdirSync(join(own.path, "locked")), ["app"]);
  });

  it("[A10] says so when the original is on a read-only file system, and loses nothing", {
    skip: needsRoot,
  }, () => {
    using own = new Workplace();
    own.folder("app", { "a.txt": "a\n" });
    const script = `
      set -e; mount --bind app app; mount -o remount,bind,ro app
      set +e; "$DRYDOCK" plan create -r app --name fix; echo "create $?"
      echo b | "$DRYDOCK" plan write fix app a.txt; "$DRYDOCK" plan apply fix; echo "apply $?"`;
    const { stdout, stderr } = own.run("unshare", ["-m", "bash", "-c", script]);
    assert.match(
      stderr,
      /^error: .*(?:read-only file system|no place from which files could be renamed|could not be written to)/m,
    );
    assert.match(stderr, /^ {2}hint: \S/m);
    assert.doesNotMatch(stderr, /^ {4}at /m);
    assert.match(stdout, /^(?:create|apply) 1$/m);
    assert.deepEqual(own.tree("app"), { "a.txt": "a\n" });
  });

  it("[A10] says so when the file system is full, and changes nothing", { skip: needsRoot }, () => {
    using own = new Workplace();
    own.folder("small", {});
    writeFileSync(join(own.path, "big"), Buffer.alloc(3 << 20, 1));
    const script = `
      set -e; mount -t tmpfs -o size=2m none small; mkdir small/app; echo a > small/app/a.txt
      "$DRYDOCK" plan create -r small/app --name fix > /dev/null
      set +e; "$DRYDOCK" plan write fix app big < big; echo "write $?"
      "$DRYDOCK" plan read fix app big > /dev/null; echo "read $?"; head -c 1m big | "$DRYDOCK" plan write fix app fits > /dev/null
      dd if=/dev/zero of=small/rest 2> /dev/null; "$DRYDOCK" plan apply fix > /dev/null; echo "apply $?"
      rm small/rest; "$DRYDOCK" plan cancel fix > /dev/null; cat small/app/a.txt; ls -A small small/app`;
    const { stdout, stderr } = own.run("unshare", ["-m", "bash", "-c", script]);
    assert.match(stderr, /^error: .*no (?:space left|room)/im);
    assert.match(stderr, /^ {2}hint: \S/m);
    assert.doesNotMatch(stderr, /^ {4}at /m);
    // Half a file that could be applied would be worse than none.
    assert.equal(stdout, "write 1\nread 2\napply 1\na\nsmall:\napp\n\nsmall/app:\na.txt\n");
  });

  it("[X4] says so when the state directory is no folder, or not there to be written", () => {
    assertRefused(place.drydock(["--state-dir", "app/a.txt", "plan", "list"]), 1, /is not a folder/);
    assertRefused(
      place.drydock(["--state-dir", "/proc/drydock", "plan", "list"]),
      1,
      /cannot keep its state/,
    );
  });

  it("[X4] says so when the current folder is gone", () => {
    const gone = place.shell(
      'mkdir gone && cd gone && rmdir ../gone && "$DRYDOCK" plan list 2> ../said; rc=$?; cat ../said >&2; rm ../said; exit $rc',
    );
    assert.match(gone.stderr, /error: The current folder is gone\.\n {2}hint: /);
    assert.equal(gone.status, 2);
    assert.ok(!existsSync(join(place.path, "gone")));
  });
});
