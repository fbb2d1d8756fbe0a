import assert from "node:assert/strict";
import { rmSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { describe } from "node:test";
import { ACTORS, inTurn, Stage } from "./stage.ts";

const SECRET = "the-secret-of-the-user";

for (const actor of ACTORS) {
  describe(`A policy that denies paths to commands of ${actor}`, () => {
    const it = inTurn(actor);
    for (const strategy of ["overlay", "filesystem_copy"])
      it(`[I3] hides what a plan has at a denied path, whatever became of it there, with ${strategy}`, () => {
        using stage = new Stage(actor);
        const names = ["gone/.env", "linked/.env", "again/.env", "file/.env", "folder/.env/key"];
        for (const name of names) stage.write(`home/rn/${name}`, `${SECRET}\n`);
        stage.write("home/rn/other/.env", "not denied\n");
        stage.give();
        const rn = join(stage.home, "rn");
        const plan = stage.done("plan", "create", "-r", `${rn},strategy=${strategy}`).trim();
        const exec = (script: string) => stage.drydock(["plan", "exec", plan, "--", "sh", "-c", script]);
        // One link leads to what may be read, the other one to what is denied under another name.
        const made = exec("cd ~/rn; rm -r linked again; ln -s other linked; ln -s file again");
        assert.equal(made.status, 0, made.stderr);
        stage.done("plan", "rm", plan, "rn", "gone", "--recursive");
        // What is there outside has another kind by now, or came later.
        for (const name of ["file/.env", "folder/.env"]) rmSync(join(rn, name), { recursive: true });
        for (const name of ["file/.env/key", "folder/.env", "late/.env"])
          stage.write(`home/rn/${name}`, SECRET);
        const folders = ["gone", "linked", "again", "file", "folder", "late"];
        const deny = folders.map((name) => `~/rn/${name}/.env`).join(", ");
        stage.write("home/.config/drydock/config.yaml", `run: { read: { deny: [${deny}] } }\n`);
        stage.give();
        const { status, stdout, stderr } = exec(
          "cd ~/rn; cat linked/.env; grep -rs the-secret gone linked/ again/ file folder late; echo done",
        );
        assert.deepEqual({ status, stdout }, { status: 0, stdout: "not denied\ndone\n" }, stderr);
      });

    it("refuses to deny the whole file system, also by a line that means it here, and says where", () => {
      using stage = new Stage(actor);
      symlinkSync("/", join(stage.home, "all"));
      const said = (line: string) => {
        stage.write("home/.config/drydock/config.yaml", `run:\n  read:\n    deny: ["${line}"]\n`);
        stage.give();
        const { status, stderr } = stage.drydock(["run", "--", "true"], { env: { HOME: stage.home } });
        assert.equal(status, 2, stderr);
        return stderr;
      };
      assert.match(said("/"), /config\.yaml:3:12: run\.read\.deny: \/ is the whole file system, in which no/);
      assert.match(
        said("~/all"),
        /config\.yaml:3:12: run\.read\.deny: ~\/all means \/ here, the whole file system/,
      );
    });

    it("refuses a command under another policy than that of one that runs, and says how both get the same", async () => {
      using stage = new Stage(actor);
      const plan = stage.done("plan", "create", "-r", stage.project).trim();
      const running = stage.start(["plan", "exec", plan, "--", "sh", "-c", "echo up; read line"]);
      await running.until(() => running.stdout === "up\n");
      const other = (...profile: string[]) =>
        stage.drydock(["plan", "exec", plan, ...profile, "--", "claude"]);
      const { status, stderr } = other();
      assert.equal(status, 1, stderr);
      assert.match(stderr, /under another policy\.\n {2}hint: .*--profile none/);
      assert.doesNotMatch(other("--profile", "none").stderr, /policy/);
      running.input("\n");
      assert.equal((await running.ended()).status, 0);
    });
  });
}
