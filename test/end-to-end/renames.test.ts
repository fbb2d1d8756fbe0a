import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { Workplace } from "./workplace.ts";

const ODD = 'odd "name"\\ \té';

/** A plan over a folder in which a script of sh has run. */
class RenamingPlace extends Workplace {
  constructor(strategy: string, script: string) {
    super();
    this.folder("app", {
      "src/a": "a\n",
      "src/deep/b": "b\n",
      file: "one file\n",
      kept: "kept\n",
      tool: "#!/bin/sh\n",
      [ODD]: "odd\n",
    });
    this.shell("cd app; chmod 755 tool; printf '\\0\\1' > binary; ln -s kept link; cp -a . ../copy");
    this.done("plan", "create", "-r", `app,strategy=${strategy}`);
    this.done("plan", "exec", "--", "sh", "-ec", script);
  }

  /** What is in a folder: every path with its kind, mode and content. */
  contents(folder: string): string {
    const script = "find . -mindepth 1 -printf '%y %M %p %l\\n' | sort; find . -type f -exec cat {} + | sort";
    return this.shell(`cd ${folder}; ${script}`).stdout;
  }
}

const WORK = `mv -T src lib; mv file moved; mv tool 'bin tool'; mv binary b2; mv link l2; printf '\\0\\2' > other
  mv '${ODD}' 'odd\\2'; echo more >> kept`;

for (const strategy of ["overlay", "filesystem_copy"]) {
  describe(`Renames in a plan of ${strategy}`, () => {
    it("[V8] are one line each, counted, and listed for programs", () => {
      using place = new RenamingPlace(strategy, WORK);
      const text = place.done("plan", "diff");
      const lines = text.split("\n");
      assert.ok(/^R {2}app\/src → app\/lib +directory, 3 entries$/m.test(text), text);
      assert.ok(lines.includes("R  app/file → app/moved"));
      assert.ok(/^R {2}app\/link → app\/l2 +symlink$/m.test(text));
      assert.ok(!lines.some((line) => /^[AD] .*(?:src|lib|file|moved|deep)/.test(line)), text);
      assert.match(text, /10 added, 1 modified, 9 deleted; .*; 9 renamed\n/);
      assert.match(
        place.done("plan", "diff", "--stat"),
        /^ app\/lib +\| renamed from app\/src, directory, 3 entries$/m,
      );
      const { renames, stats, changes } = place.answer("plan", "diff");
      assert.equal(stats.renamed, 9);
      assert.deepEqual(renames[3], {
        resource: "app",
        from: "src",
        to: "lib",
        kind: "directory",
        entries: 3,
      });
      assert.deepEqual(renames[4], { resource: "app", from: "file", to: "moved", kind: "file" });
      // What relies on additions and deletions still finds all of them.
      assert.equal(changes.length, 20);
    });

    it("[V8] are a patch that git takes, with modes, binary files and odd names", () => {
      using place = new RenamingPlace(strategy, WORK);
      const patch = place.done("plan", "diff", "--patch");
      assert.match(patch, /^similarity index 100%\nrename from src\/deep\/b\nrename to lib\/deep\/b$/m);
      const applied = place.shell('"$DRYDOCK" plan diff -p | (cd copy && git apply -v)');
      assert.equal(applied.status, 0, applied.stderr);
      place.done("plan", "apply");
      place.shell("find app copy -type d -empty -delete");
      assert.equal(place.contents("copy"), place.contents("app"));
    });
  });
}

describe("A patch of a single file", () => {
  it("[V8] is taken by git, also if the file is no text", () => {
    using place = new Workplace();
    place.folder("app", { "one.bin": "" });
    place.shell("printf '\\0\\1' > app/one.bin; cp -a app copy");
    place.done("plan", "create", "-r", "app/one.bin");
    place.shell("printf '\\0\\2\\3' | \"$DRYDOCK\" plan write one.bin .");
    const applied = place.shell('"$DRYDOCK" plan diff -p | (cd copy && git apply)');
    assert.equal(applied.status, 0, applied.stderr);
    place.done("plan", "apply");
    assert.equal(place.read("copy/one.bin"), place.read("app/one.bin"));
  });
});
