import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { describe } from "node:test";
import type { Ended } from "../end-to-end/workplace.ts";
import { ACTORS, inTurn, Stage } from "../run/stage.ts";
import { perlLine } from "./system-calls.ts";

/**
 * What a command leaves in a kept scratch layer is where the next one's view is put together. These put links
 * where something is going to be mounted, so that it is mounted over programs that the launcher might run,
 * with programs of the command's own under their names.
 */
for (const actor of ACTORS) {
  describe(`A link in the place of a mount point, by ${actor}`, () => {
    const it = inTurn(actor);
    it("[X7] leads no sandbox over programs when the folder above was moved away", () => {
      using stage = new Stage(actor);
      const { work, app, plan } = planBelowHome(stage, { known: "" });
      exec(stage, plan, `${plant(stage, app)}; ${replaceParent(work, "/usr/sbin")}`);
      exec(stage, plan, "true");
      assertNothingRan(stage);
    });

    it("[X7] leads no scratch layer of the home over programs", () => {
      using stage = new Stage(actor);
      const plan = stage.done("plan", "create", "-r", stage.project).trim();
      exec(
        stage,
        plan,
        `${plant(stage, stage.home)}
         ${rename(stage.path, `${stage.path}.moved`)} && mkdir -p '${stage.state}' '${stage.project}' && ln -s /usr/sbin '${stage.home}'`,
      );
      exec(stage, plan, "true");
      assertNothingRan(stage);
    });

    it("[X7] leads no sandbox over another folder inside", () => {
      using stage = new Stage(actor);
      stage.write("home/other/real", "");
      const { work, app, plan } = planBelowHome(stage, { sandboxed: "" });
      exec(stage, plan, replaceParent(work, "../other"));
      assertInPlace(exec(stage, plan, `ls ~/other; ls '${app}/'`), "real\nsandboxed\n");
    });

    it("[X7] does not keep the next command from starting: folders above what is mounted can't be moved", () => {
      using stage = new Stage(actor);
      const { work, app, plan } = planBelowHome(stage, { sandboxed: "" });
      const moved = exec(
        stage,
        plan,
        `${rename(work, `${work}.moved`)} && echo moved; rmdir '${work}' || echo kept`,
      );
      assert.equal(moved.stdout, "kept\n");
      assert.deepEqual(
        [exec(stage, plan, `ls '${app}'`).stdout, exec(stage, plan, "true").status],
        ["sandboxed\n", 0],
      );
    });

    it("[X7] is not put there from a namespace without the mount, in the place of an empty folder", () => {
      using stage = new Stage(actor);
      const { work, app, plan } = planBelowHome(stage, {});
      attack(stage, plan, `${plant(stage, app)}; ${replaceByLink(work, "app", "/usr/sbin")}`);
      exec(stage, plan, "true");
      assertNothingRan(stage);
      assertInPlace(exec(stage, plan, `ls '${app}' | wc -l`), `${PLANTED.length}\n`);
    });

    it("[X7] is not put there from a namespace without the mount, in the place of a single file", () => {
      using stage = new Stage(actor);
      stage.write("home/files/single", "single\n");
      stage.give();
      const [folder, file] = [join(stage.home, "files"), join(stage.home, "files/single")];
      const plan = stage.done("plan", "create", "-r", `${file},strategy=filesystem_copy`).trim();
      for (const program of ["/usr/sbin/pivot_root", "/usr/bin/umount"]) {
        attack(stage, plan, `${plantAt(stage, file)}; ${replaceByLink(folder, "single", program)}`);
        exec(stage, plan, "true");
      }
      assertNothingRan(stage);
      assertInPlace(exec(stage, plan, `head -n 1 '${file}'`), "#!/bin/sh\n");
    });
  });
}

/** Programs that a launcher might run while it has privileges. */
const PLANTED = "pivot_root umount mount ip ln env setpriv unshare nsenter sh node".split(" ");

/** A plan over a folder in a folder of the home, which has a scratch layer for either actor. */
function planBelowHome(stage: Stage, files: { readonly [name: string]: string }) {
  const app = stage.folder("home/work/app", files);
  stage.give();
  const plan = stage.done("plan", "create", "-r", app).trim();
  return { work: join(stage.home, "work"), app, plan };
}

/** A script that writes a program for each name into a folder. */
function plant(stage: Stage, folder: string): string {
  return PLANTED.map((name) => plantAt(stage, `${folder}/${name}`)).join("\n");
}

/** What runs although it was only planted says with which capabilities, where nothing inside can write. */
function plantAt(stage: Stage, path: string): string {
  const program = `#!/bin/sh
    while read -r line; do case $line in CapEff*) echo "$0 $line" >> ${stage.path}/ran ;; esac; done < /proc/self/status
    exit 1`;
  return `cat > '${path}' <<'END_OF_PROGRAM'\n${program}\nEND_OF_PROGRAM\nchmod 755 '${path}'`;
}

/**
 * A command that leaves all mounts behind in a nested namespace, and then removes what something is mounted
 * on through a descriptor of the folder that it is in. The kernel refuses that only where the mount is seen.
 */
function replaceByLink(folder: string, name: string, target: string): string {
  return perlLine(
    `my ($parent, $name, $target) = @ARGV; my ($uid, $gid) = ($<, $( + 0);
    opendir(my $folder, $parent) or exit 1; my $fd = fileno($folder);
    attempt("namespace", "unshare", 0x10020000) or exit 1;
    for (["setgroups", "deny"], ["uid_map", "0 $uid 1"], ["gid_map", "0 $gid 1"]) {
      open(my $map, ">", "/proc/self/$_->[0]") or exit 1; syswrite($map, $_->[1]);
    }
    my ($tmpfs, $new, $old, $left, $options) = ("tmpfs", "/tmp", "/tmp/old", "/old", "size=1m");
    attempt("mount", "mount", $tmpfs, $new, $tmpfs, 0, $options) or exit 1;
    mkdir $old; attempt("leave", "pivot_root", $new, $old) or exit 1;
    chdir "/"; attempt("let go", "umount2", $left, 2) or exit 1;
    attempt("remove folder", "unlinkat", $fd, $name, 0x200) or attempt("remove file", "unlinkat", $fd, $name, 0) or exit 1;
    attempt("link", "symlinkat", $target, $fd, $name) or exit 1;`,
    ...[folder, name, target],
  );
}

/**
 * Moves the folder above a mount point away, and makes another one, in which a link called "app" is in its
 * place.
 */
function replaceParent(folder: string, target: string): string {
  return `${rename(folder, `${folder}.moved`)} && mkdir '${folder}' && ln -s '${target}' '${folder}/app'`;
}

/** One call, other than `mv`, which copies and deletes if that is refused. */
function rename(from: string, to: string): string {
  return `/usr/bin/perl -e 'exit(rename($ARGV[0], $ARGV[1]) ? 0 : 1)' '${from}' '${to}'`;
}

function attack(stage: Stage, plan: string, script: string): void {
  const { stdout, stderr } = exec(stage, plan, script);
  assert.match(stdout, /^trying$/m, stderr);
}

function exec(stage: Stage, plan: string, script: string): Ended {
  return stage.drydock(["plan", "exec", plan, "--", "sh", "-c", script], { cwd: "/" });
}

function assertNothingRan(stage: Stage): void {
  const ran = existsSync(join(stage.path, "ran")) ? stage.read("ran") : "";
  assert.equal(ran, "", "planted programs ran");
}

/** The next command may be refused, as long as it is said; if it is not, it sees everything in its place. */
function assertInPlace({ status, stdout, stderr }: Ended, expected: string): void {
  if (status === 1) assert.match(stderr, /^error: \S/m);
  else assert.deepEqual({ status, stdout }, { status: 0, stdout: expected }, stderr);
}
