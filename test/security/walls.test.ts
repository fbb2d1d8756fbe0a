import assert from "node:assert/strict";
import { once } from "node:events";
import { existsSync, readFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { describe } from "node:test";
import { ACTORS, inTurn } from "../run/stage.ts";
import { WalledStage } from "../run/walled-stage.ts";
import { perlLine } from "./system-calls.ts";

/**
 * The walls around a command where there are no namespaces. Each has a test of its own that fails without it.
 */
for (const actor of ACTORS) {
  describe(`Without namespaces, a command of ${actor}`, () => {
    const it = inTurn(actor);
    it("[W2, X7] changes nothing outside of the plan, by no call that writes", () => {
      using stage = new WalledStage(actor);
      stage.write("outside/file", "kept\n");
      stage.write("outside/folder/inner", "kept\n");
      stage.give();
      const before = stage.tree("outside");
      const said = stage.insideDone(WRITE, "--env", `OUT=${join(stage.path, "outside")}`);
      assert.deepEqual(
        said.split("\n").filter((line) => line.endsWith(": done")),
        [],
      );
      assert.match(said, /^trying\n/);
      assert.equal(said.split("\n").filter((line) => line.endsWith(": refused")).length, 12);
      assert.deepEqual(stage.tree("outside"), before);
      assert.equal(stage.read("project/a.txt"), "one\n");
    });

    it("[W2, X7] reads nothing of Drydock's state, nor of another plan", () => {
      using stage = new WalledStage(actor);
      stage.write("other/file", "the secret\n");
      stage.give();
      stage.drydock(["run", "--keep", "-r", join(stage.path, "other"), "--", "sh", "-c", "echo >> file"]);
      const script = `grep -rl "the secret" ${stage.state}; cat ${stage.state}/drydock.db; cat ${stage.path}/other/file`;
      assert.equal(stage.insideDone(`{ ${script}; } 2> /dev/null`), "the secret\n");
    });

    it("[W2, X7] with --no-network reaches no server, by no kind of socket", async () => {
      using stage = new WalledStage(actor);
      const server = createServer((socket) => socket.destroy()).listen(0, "127.0.0.1");
      await once(server, "listening");
      const address = server.address();
      const port = typeof address === "object" ? address?.port : undefined;
      try {
        for (const [options, answer] of [
          [[], "tcp: done\nudp: done\n"],
          [["--no-network"], "tcp: refused\nudp: refused\n"],
        ] as const) {
          const running = stage.start([
            ...["run", "--discard", ...options, "--", "sh", "-c"],
            perlLine(CONNECT, String(port)),
          ]);
          const { stdout, stderr } = await running.endedWithin(60);
          assert.equal(stdout, `trying\n${answer}`, stderr);
        }
      } finally {
        server.close();
      }
    });

    it("[W2, X7] neither signals nor looks into a process outside", () => {
      using stage = new WalledStage(actor);
      const script = `sleep 60 > /dev/null 2>&1 &
        OTHER=$! "$DRYDOCK" run --discard -- sh -c '${OTHERS}'
        kill $!`;
      const { stdout, stderr } = stage.run("sh", ["-c", script]);
      assert.equal(stdout, "signal refused\nenvironment refused\n", stderr);
    });

    it("[W2, X7] reaches no abstract socket of a process outside", async () => {
      using stage = new WalledStage(actor);
      const name = `drydock-${process.pid}-${actor}`;
      const server = createServer((socket) => socket.destroy()).listen({ path: `\0${name}` });
      await once(server, "listening");
      try {
        const running = stage.start(["run", "--discard", "--", "sh", "-c", perlLine(ABSTRACT, name)]);
        const { stdout, stderr } = await running.endedWithin(60);
        assert.equal(stdout, "trying\nabstract: refused\n", stderr);
      } finally {
        server.close();
      }
    });

    it("[W2, X7] gains no rights, and calls nothing that the filter refuses", () => {
      using stage = new WalledStage(actor);
      const said = stage.insideDone(`grep -E "NoNewPrivs|Seccomp:" /proc/self/status; ${perlLine(CALLS)}`);
      assert.match(said, /NoNewPrivs:\s1\nSeccomp:\s2\ntrying\nkeys: refused\nqueue: refused\n$/);
    });

    it("[W2, X7] can't write to the file that is its standard input", () => {
      using stage = new WalledStage(actor);
      const input = stage.write("input", "read this\n");
      stage.give();
      const script = `"$DRYDOCK" run --discard -- sh -c 'cat; echo more >> /proc/self/fd/0' < ${input}`;
      const { stdout } = stage.run("sh", ["-c", script]);
      assert.equal(stdout, "read this\n");
      assert.equal(readFileSync(input, "utf8"), "read this\n");
    });

    it("[W2] ends with everything that it started, also when Drydock is killed", async () => {
      using stage = new WalledStage(actor);
      const daemon = `setsid sh -c 'echo $$; exec sleep 600' & sleep 0.3; echo $$`;
      const { stdout } = stage.inside(daemon);
      assert.deepEqual(alive(stdout), []);
      const running = stage.start(["run", "--discard", "--", "sh", "-c", `${daemon}; exec sleep 600`]);
      await running.until(() => running.stdout.split("\n").length > 2);
      assert.equal(alive(running.stdout).length, 2, running.stderr);
      running.signal("SIGKILL");
      for (let tries = 0; tries < 500 && alive(running.stdout).length > 0; tries += 1)
        await new Promise((resolve) => setTimeout(resolve, 10));
      assert.deepEqual(alive(running.stdout), []);
    });
  });
}

function alive(said: string): readonly string[] {
  return said.split("\n").filter((pid) => /^\d+$/.test(pid) && existsSync(`/proc/${pid}/cwd`));
}

/** Each way to change something in the folder OUT. */
const WRITE = perlLine(`
  my $out = $ENV{OUT};
  said("create", open(my $new, ">", "$out/new"));
  said("overwrite", open(my $over, ">", "$out/file"));
  said("append", open(my $more, ">>", "$out/file"));
  said("truncate", truncate("$out/file", 0));
  said("remove", unlink("$out/file"));
  said("rename", rename("$out/file", "$out/other"));
  said("take", rename("$out/file", "taken"));
  said("put", rename("a.txt", "$out/put"));
  said("link", link("a.txt", "$out/linked"));
  said("symlink", symlink("a.txt", "$out/symlinked"));
  said("mkdir", mkdir("$out/made"));
  said("rmdir", unlink("$out/folder/inner") || rmdir("$out/folder"));`);

const CONNECT = `
  use Socket;
  my $to = sockaddr_in($ARGV[0], inet_aton("127.0.0.1"));
  my ($tcp, $udp);
  said("tcp", socket($tcp, PF_INET, SOCK_STREAM, 0) && connect($tcp, $to));
  said("udp", socket($udp, PF_INET, SOCK_DGRAM, 0) && defined(send($udp, "x", 0, $to)));`;

const OTHERS = `kill -0 $OTHER 2> /dev/null && echo signal sent || echo signal refused
  cat /proc/$OTHER/environ > /dev/null 2>&1 && echo environment read || echo environment refused`;

const ABSTRACT = `
  use Socket;
  socket(my $socket, PF_UNIX, SOCK_STREAM, 0);
  said("abstract", connect($socket, pack("S a*", 1, "\\0$ARGV[0]")));`;

const CALLS = `
  attempt("keys", "add_key", 0, 0, 0, 0, 0);
  my $parameters = "\\0" x 120; attempt("queue", "io_uring_setup", 1, $parameters);`;
