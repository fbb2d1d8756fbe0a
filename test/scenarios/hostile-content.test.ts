import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { existsSync, linkSync, lstatSync, readdirSync, readFileSync, readlinkSync, statSync } from "node:fs";
import { join } from "node:path";
import { describe } from "node:test";
import { assertRefused } from "../end-to-end/workplace.ts";
import { ACTORS, inTurn, Stage } from "../run/stage.ts";
import { mountMemory, whyNoImages } from "../support/file-systems.ts";
import { IS_LONG } from "../support/long-form.ts";
import { assertSameTree, snapshotTree } from "../support/tree-snapshot.ts";

const TINY_FILES = IS_LONG ? 100_000 : 5_000;

/** A stage with a folder beside the project that nothing may reach. */
class HostileStage extends Stage {
  readonly outside = join(this.path, "outside");

  prepare(): this {
    for (const path of ["project/folder/inner", "project/file", "outside/secret", "outside/inner"])
      this.write(path, `${path}\n`);
    this.give();
    return this;
  }

  /** Runs a script of sh inside, and lands what it did. */
  land(script: string): string {
    const env = { OUTSIDE: this.outside };
    const { status, stderr } = this.drydock(
      ["run", "--apply", "--name", "hostile", "--", "sh", "-c", script],
      { env },
    );
    assert.equal(status, 0, stderr);
    return stderr;
  }
}

for (const actor of ACTORS) {
  describe(`What a hostile command leaves, landed by ${actor}`, () => {
    const it = inTurn(actor);
    it("[X1] links that lead out land as links, and nothing is written or read through them", () => {
      using scene = new HostileStage(actor).prepare();
      const outside = snapshotTree(scene.outside);
      scene.land(`
        ln -s "$OUTSIDE/secret" absolute; ln -s ../outside/secret upward; ln -s ../../../../../../../../etc far
        mkdir deep; ln -s ../../outside deep/out
        echo changed > folder/inner; rm -rf folder; ln -s "$OUTSIDE" folder
        rm file; ln -s "$OUTSIDE/secret" file
        for link in absolute upward file folder/inner deep/out/inner; do echo hostile > $link; done
        echo hostile > ../outside/new; true`);
      assertSameTree(snapshotTree(scene.outside), outside, "the outside changed");
      const links = {
        absolute: join(scene.outside, "secret"),
        upward: "../outside/secret",
        far: "../../../../../../../../etc",
        "deep/out": "../../outside",
        folder: scene.outside,
        file: join(scene.outside, "secret"),
      };
      for (const [link, target] of Object.entries(links))
        assert.equal(readlinkSync(join(scene.project, link)), target, link);
      // They are part of the original now, and a later plan goes through none of them either.
      const id = scene.done("plan", "create", "-r", scene.project).trim();
      for (const path of ["folder/inner", "deep/out/inner"]) {
        const written = scene.drydock(["plan", "write", id, "project", path], { input: "hostile\n" });
        assertRefused(written, 2, /link/);
        assert.equal(scene.drydock(["plan", "read", id, "project", path]).status, 2, path);
      }
      scene.done("plan", "cancel", id);
      scene.land("echo hostile > folder/inner; rm -rf deep/out/*; rm file; echo mine > file");
      assertSameTree(snapshotTree(scene.outside), outside, "the outside changed");
      assert.deepEqual(
        [lstatSync(join(scene.project, "file")).isFile(), scene.read("project/file")],
        [true, "mine\n"],
      );
    });

    it("[X1] a file outside gets no name inside, and one with a name outside is not changed there", () => {
      using scene = new HostileStage(actor).prepare();
      linkSync(join(scene.project, "file"), join(scene.outside, "linked"));
      const outside = snapshotTree(scene.outside);
      const said = scene.land(`
        ln "$OUTSIDE/secret" hard; ln "$OUTSIDE/linked" hard-2; cp -l "$OUTSIDE/inner" hard-3
        echo changed >> file; chmod 777 file; true`);
      assert.match(said, /warning: has other names outside the plan, which keep the old content/);
      assert.deepEqual(readdirSync(scene.project).toSorted(), ["a.txt", "file", "folder"]);
      assert.equal(scene.read("project/file"), "project/file\nchanged\n");
      assertSameTree(snapshotTree(scene.outside), outside, "the outside changed");
    });

    it("[A12] set-id bits and devices do not land, wherever they are, and that is said", () => {
      using scene = new HostileStage(actor).prepare();
      const said = scene.land(`
        for f in new folder/new; do echo x > $f; chmod 6755 $f; done
        chmod 4755 file; mkdir -p tree/deep; cp /bin/true tree/deep/run; chmod 2755 tree/deep/run
        mknod null c 1 3; mknod tree/deep/disk b 7 0; chmod 2775 tree; mkfifo tree/pipe; true`);
      assert.match(said, /warning: lands without its set-id bits/);
      // Others can't even make one.
      if (actor === "root") assert.match(said, /warning: a device node made in a sandbox does not land/);
      for (const path of ["new", "folder/new", "file", "tree/deep/run"])
        assert.equal(statSync(join(scene.project, path)).mode & 0o6000, 0, path);
      for (const path of ["null", "tree/deep/disk"]) assert.ok(!existsSync(join(scene.project, path)), path);
      assert.ok(lstatSync(join(scene.project, "tree/pipe")).isFIFO());
      assert.equal(statSync(join(scene.project, "tree")).mode & 0o7777, 0o2775);
    });

    it(`[A8] ${TINY_FILES.toLocaleString("en")} tiny files land and are taken back`, {
      skip: whyNoImages() ?? false,
    }, () => {
      using scene = new HostileStage(actor).prepare();
      // No disk is to be waited for.
      using memory = mountMemory();
      const env = { DRYDOCK_STATE_DIR: join(memory.path, "state") };
      const original = join(memory.path, "original");
      execFileSync("cp", ["-a", scene.project, original]);
      execFileSync("chown", [`--reference=${scene.project}`, memory.path]);
      const before = snapshotTree(original);
      const half = TINY_FILES / 2;
      const split = (folder: string) => `seq ${half} | split -l 1 -a 6 -d - ${folder}/tiny-`;
      const script = `mkdir new; ${split("new")}; ${split("folder")}`;
      const options = { env, cwd: original };
      const ran = scene.drydock(["run", "--apply", "--name", "hostile", "--", "sh", "-ec", script], options);
      assert.equal(ran.status, 0, ran.stderr);
      for (const folder of ["new", "folder"]) {
        const names = readdirSync(join(original, folder)).filter((name) => name.startsWith("tiny-"));
        assert.equal(names.length, half);
        for (const name of names.filter((_, at) => at % 997 === 0))
          assert.equal(readFileSync(join(original, folder, name), "utf8"), `${Number(name.slice(5)) + 1}\n`);
      }
      assert.equal(scene.drydock(["plan", "undo", "hostile"], options).status, 0);
      assertSameTree(snapshotTree(original), before, "taken back");
    });

    it("[A11] a folder 200 deep lands and goes, beyond the longest path too", () => {
      using scene = new HostileStage(actor).prepare();
      // A shell can't go beyond the longest path.
      const step = `mkdir $ARGV[0] and chdir $ARGV[0] and open(F, ">", "file") and print F "$_\\n" or exit 1; close F;`;
      const descend = (name: string) => `perl -e 'for (1..200) { ${step} }' ${name} || exit 1`;
      const long = "a-name-that-is-rather-long-for-one";
      try {
        const before = snapshotTree(scene.project);
        scene.land(`${descend("d")}; ${descend(long)}`);
        assert.equal(scene.read(`project/${"d/".repeat(200)}file`), "200\n");
        const count = () =>
          execFileSync("find", [scene.project, "-name", "file"], { encoding: "utf8" }).split("\n").length;
        assert.equal(count(), 402);
        scene.done("plan", "undo", "hostile");
        assertSameTree(snapshotTree(scene.project), before, "taken back");
        assert.equal(scene.shell(`${descend("d")}; ${descend(long)}`).status, 0);
        assert.equal(count(), 402);
        scene.drydock(["run", "--apply", "--", "sh", "-c", `rm -rf d ${long}`]);
        assertSameNames(snapshotTree(scene.project), before);
      } finally {
        // Too long for Node.
        execFileSync("rm", ["-rf", scene.project]);
      }
    });
  });
}

function assertSameNames(actual: ReadonlyMap<string, string>, expected: ReadonlyMap<string, string>): void {
  assert.deepEqual([...actual.keys()].toSorted(), [...expected.keys()].toSorted());
}
