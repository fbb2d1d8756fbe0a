import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { statSync, truncateSync } from "node:fs";
import { describe, it } from "node:test";
import { ACTORS, inTurn, Stage } from "../run/stage.ts";
import { perlFile } from "./system-calls.ts";

/**
 * What a command finds at its standard streams is the host's. It can do with it what the stream was opened
 * for, and no more.
 */
for (const actor of ACTORS) {
  describe(`What is handed in, run by ${actor}`, () => {
    const it = inTurn(actor);
    for (const mode of ["", "--strict"]) {
      const how = mode === "" ? "" : ` with ${mode}`;

      it(`[X8] as standard input, can't be changed if it is a file${how}`, () => {
        using stage = new Stage(actor);
        const change = changeStream(stage);
        const notes = stage.write("notes", NOTES);
        stage.give();
        const before = factsOf(notes);
        const { stdout, stderr } = stage.shell(
          `"$DRYDOCK" run --discard ${mode} -- ${change} 0 < '${notes}'`,
        );
        assert.match(stdout, /^trying\n/, stderr);
        assert.equal(stage.read("notes"), NOTES);
        assert.deepEqual(factsOf(notes), before, stdout);
      });
    }

    for (const [stream, redirects] of [
      [1, [">", ">>"]],
      [2, [">>"]],
    ] as const)
      it(`[X8] as stream ${stream}, can't be rewritten or read if it is a file`, () => {
        using stage = new Stage(actor);
        const change = changeStream(stage);
        const log = stage.write("log", "");
        stage.give();
        const { mode } = statSync(log);
        for (const redirect of redirects) {
          const script = `echo earlier >&${stream}; "$DRYDOCK" run --strict --discard -- ${change} ${stream}; echo later >&${stream}`;
          const { stdout, stderr } = stage.shell(`{ ${script}; } ${stream}${redirect} '${log}'`);
          const written = stage.read("log");
          assert.match(written, /^earlier\n[^\0]*plain\n[^\0]*later\n$/, stdout + stderr);
          assert.equal(statSync(log).mode, mode);
          assert.doesNotMatch(stdout + stderr + written, /read back: earlier/);
        }
      });

    it("[X8] as standard input, is read and sought in from where it stands, and the next one goes on from there", () => {
      using stage = new Stage(actor);
      const notes = stage.write("notes", NOTES);
      stage.give();
      const run = `"$DRYDOCK" run --discard --`;
      const seek = `/usr/bin/perl -e 'sysseek(STDIN, 12, 0) or die $!; sysread(STDIN, my $text, 4) or die $!; print $text'`;
      const { stdout, stderr } = stage.shell(`
        { head -c 4; ${run} dd status=none bs=4 count=1; ${run} ${seek}; cat; } < '${notes}'`);
      assert.equal(stdout, "AAAABBBBDDDD\n", stderr);
    });

    it("[X8] keeps the order of what is written to both output streams, if these are one file", () => {
      using stage = new Stage(actor);
      const script = "for i in 1 3 5 7 9; do echo $i; echo $((i + 1)) >&2; done";
      stage.shell(`{ echo 0; "$DRYDOCK" run --discard -- sh -c '${script}'; } > '${stage.home}/log' 2>&1`);
      assert.equal(stage.read("home/log"), `${[...Array(11).keys()].join("\n")}\nNo changes.\n`);
    });

    it("[X8] is no way out if it is a folder", () => {
      using stage = new Stage(actor);
      const enter = perlFile(stage.project, "enter.pl", ENTER_FOLDER).join(" ");
      stage.write("outside/below/", "");
      stage.give();
      for (const stream of [0, 1, 2]) {
        const { stderr } = stage.shell(
          `"$DRYDOCK" run --discard -- ${enter} ${stream} ${stream}< '${stage.path}/outside/below'`,
        );
        assert.deepEqual(stage.tree("outside"), { below: "/" }, `stream ${stream}: ${stderr}`);
      }
    });

    it("[X8] is nothing but the three standard streams", () => {
      using stage = new Stage(actor);
      const notes = stage.write("notes", NOTES);
      stage.give();
      const script =
        "for fd in 3 4 5 6 7 8 9 20 30; do [ -e /proc/$$/fd/$fd ] && echo $fd; done; echo looked";
      const { stdout, stderr } = stage.shell(
        `"$DRYDOCK" run --discard -- bash -c '${script}' 5< '${notes}' 6>> '${notes}' 20<> '${notes}' 30< /`,
      );
      assert.equal(stdout, "looked\n", stderr);
    });
  });
}

describe("A device that is handed in as standard input", () => {
  it("[X8] can't be written, which root could with any node", {
    skip: process.geteuid?.() !== 0 && "only root makes devices",
  }, () => {
    using stage = new Stage("root");
    const change = changeStream(stage);
    const image = stage.write("image", "");
    truncateSync(image, 4096);
    using device = new LoopDevice(image);
    const { stdout, stderr } = stage.shell(`"$DRYDOCK" run --discard -- ${change} 0 < ${device.path}`);
    assert.match(stdout, /^trying\n/, stderr);
    device[Symbol.dispose]();
    assert.ok(!stage.read("image").includes("changed"));
  });
});

const NOTES = "AAAABBBBCCCCDDDD\n";

/**
 * Puts the program that tries all on one of its streams into the project; returns how it is called, but for
 * the stream.
 */
function changeStream(stage: Stage): string {
  return perlFile(
    stage.project,
    "change.pl",
    `use Fcntl; my $fd = $ARGV[0]; my $name = ("stdin", "stdout", "stderr")[$fd];
    open(my $stream, $fd == 0 ? "<&=0" : ">&=$fd"); my $other = $fd == 2 ? *STDOUT : *STDERR;
    for my $path ("/proc/self/fd/$fd", "/dev/$name", "/dev/fd/$fd", "/proc/$$/fd/$fd") {
      if ($fd > 0 && sysopen(my $again, $path, O_RDONLY | O_NONBLOCK)) {
        sysread($again, my $text, 100); print $other "read back: $text\\n";
      }
      for my $flags (O_WRONLY, O_RDWR, O_WRONLY | O_TRUNC, O_WRONLY | O_APPEND) {
        if (sysopen(my $again, $path, $flags | O_NONBLOCK)) { syswrite($again, "changed\\n"); truncate($again, 2); }
      }
      truncate($path, 1); chmod(0777, $path); utime(1, 1, $path);
      my ($attribute, $value) = ("user.changed", "1"); syscall($call{setxattr}, $path, $attribute, $value, 1, 0);
    }
    chmod(0777, $stream); utime(1, 1, $stream); truncate($stream, 1);
    if ($fd > 0) { sysseek($stream, 0, 0); syswrite($stream, "plain\\n"); }`,
  ).join(" ");
}

/** Makes a file in what a stream is, and above that. */
const ENTER_FOLDER = `
  my $fd = $ARGV[0]; my ($file, $folder);
  for my $path (map { ("/proc/self/fd/$fd$_", "/dev/fd/$fd$_") } "", "/..") { open($file, ">", "$path/entered"); }
  if (open($folder, "<&=$fd") && chdir($folder)) { open($file, ">", "entered"); open($file, ">", "../entered"); }`;

/** What changes with any change of a file's content, mode, times or attributes. */
function factsOf(file: string): object {
  const { mode, ctimeNs, mtimeNs, size } = statSync(file, { bigint: true });
  return { mode, ctimeNs, mtimeNs, size };
}

class LoopDevice implements Disposable {
  readonly path: string;
  #isOpen = true;

  constructor(image: string) {
    const { status, stdout, stderr } = spawnSync("losetup", ["--find", "--show", image], {
      encoding: "utf8",
    });
    assert.equal(status, 0, stderr);
    this.path = stdout.trim();
  }

  [Symbol.dispose](): void {
    if (this.#isOpen) spawnSync("losetup", ["--detach", this.path]);
    this.#isOpen = false;
  }
}
