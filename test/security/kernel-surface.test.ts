import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { ACTORS, Stage } from "../run/stage.ts";
import { perlLine } from "./system-calls.ts";

/**
 * What the kernel offers to any process, and through which something outside of the view could be reached.
 */
for (const actor of ACTORS) {
  describe(`The kernel, asked by a command of ${actor}`, () => {
    it("[X7] gives no key of the user's keyrings", () => {
      using stage = new Stage(actor);
      using key = new HostKey(stage);
      for (const options of [[], ["--strict"]])
        assert.deepEqual(stage.insideDone(key.attack, ...options).split("\n"), [
          ...["trying", "read: refused", "search: refused", "request: refused", "add: refused", ""],
        ]);
    });

    it("[X7] makes no socket for raw packets, nor a queue of calls that no filter sees", () => {
      using stage = new Stage(actor);
      for (const options of [[], ["--strict"]])
        assert.deepEqual(stage.insideDone(RAW_SOCKETS, ...options).split("\n"), [
          ...["trying", "packets: refused", "raw: refused", "queue: refused", ""],
        ]);
    });

    it("[X7] lets no command stop the processes that wait for it", async () => {
      using stage = new Stage(actor);
      const running = stage.start(["run", "--discard", "--", "sh", "-c", STOP_OTHERS]);
      const { stdout, stderr, status } = await running.endedWithin(20);
      assert.match(stdout, /^trying\n/, stderr);
      assert.equal(status, 7, stderr);
    });

    it("[X7] shows no folder of the host through the processes that wait for a command", () => {
      using stage = new Stage(actor);
      const said = stage.insideDone(perlLine(CLIMB, `${stage.state}/drydock.db`));
      assert.match(said, /^trying\nfound nothing by \d+ ways\n$/);
    });

    it("lets a command trace what it started itself", () => {
      using stage = new Stage(actor);
      const script = "strace -f -o trace sh -c '/bin/true; /bin/true' && grep -c 'execve(' trace";
      assert.equal(stage.insideDone(script), "3\n");
    });
  });
}

const RAW_SOCKETS = perlLine(`
  said("packets", socket(my $packets, 17, 3, 0x300));
  said("raw", socket(my $raw, 2, 3, 1));
  my $parameters = "\\0" x 120; attempt("queue", "io_uring_setup", 1, $parameters);`);

/**
 * Stops whatever else there is, by a signal and by tracing it: a process that is traced when the tracer ends
 * goes on with the signal that it was stopped with.
 */
const STOP_OTHERS = `${perlLine(`
  my @others = grep { $_ != $$ && $_ != getppid() } map { m{(\\d+)$} ? $1 : () } glob("/proc/[0-9]*");
  for (@others) { kill("STOP", $_); syscall($call{ptrace}, 16, $_ + 0, 0, 0); }
  select(undef, undef, undef, 0.2);`)}exit 7`;

/**
 * Goes up from every folder that a process has open, works in or has as its root, and looks for a file of the
 * host from there.
 */
const CLIMB = `
  my @ways = grep { -d } map { glob("$_/fd/*"), "$_/cwd", "$_/root" } glob("/proc/[0-9]*");
  for my $way (@ways) { for (0 .. 20) { my $path = $way . "/.." x $_ . $ARGV[0]; print "$path\\n" if -e $path; } }
  print "found nothing by ", scalar(@ways), " ways\\n";`;

/** A key in the keyring of the user that runs drydock. */
class HostKey implements Disposable {
  readonly #stage: Stage;
  readonly #serial: string;

  constructor(stage: Stage) {
    this.#stage = stage;
    this.#serial = this.#call(
      `my ($type, $name, $secret) = ("user", $ARGV[0], "secret");
      my $key = syscall($call{add_key}, $type, $name, $secret, 6, -4);
      syscall($call{keyctl}, 5, $key, 0x3f3f0000) == 0 or die $!; print $key;`,
      stage.path,
    );
    assert.match(this.#serial, /^\d+$/);
  }

  /** A script that tries to get at it. */
  get attack(): string {
    return perlLine(
      `my ($key, $name) = @ARGV; my ($type, $bytes) = ("user", "\\0" x 6);
      attempt("read", "keyctl", 11, $key + 0, $bytes, 6);
      said("search", grep { syscall($call{keyctl}, 10, $_, $type, $name, 0) >= 0 } (-3, -4, -5));
      attempt("request", "request_key", $type, $name, 0, 0);
      attempt("add", "add_key", $type, $name, $bytes, 6, -2);`,
      ...[this.#serial, this.#stage.path],
    );
  }

  #call(body: string, ...args: readonly string[]): string {
    const { status, stdout, stderr } = this.#stage.shell(perlLine(body, ...args));
    assert.equal(status, 0, stderr);
    return stdout.replace("trying\n", "");
  }

  [Symbol.dispose](): void {
    this.#call("syscall($call{keyctl}, 21, $ARGV[0] + 0) == 0 or die $!;", this.#serial);
  }
}
