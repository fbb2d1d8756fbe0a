import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { chmodSync, mkdtempSync, realpathSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { describe } from "node:test";
import { Running } from "../end-to-end/workplace.ts";
import { ACTORS, inTurn, Stage } from "../run/stage.ts";
import { removeFolder } from "../support/remove-folder.ts";
import { perlFile, perlLine } from "./system-calls.ts";

const PATHS = ["stream", "datagram", "fifo"] as const;
const ABSTRACT = ["abstract stream", "abstract datagram"] as const;
const ALL = [...PATHS, ...ABSTRACT];

/** Programs of the host listen at sockets and fifos, in /run and elsewhere. */
for (const actor of ACTORS) {
  describe(`A program of the host that listens, for a command of ${actor}`, () => {
    const it = inTurn(actor);
    it("[X7] hears nothing from a command that runs with --strict, wherever its sockets are", async () => {
      using stage = new Stage(actor);
      await using listener = await Listener.start();
      for (const env of [{}, { HOME: listener.folder }]) {
        const { stdout, stderr } = stage.drydock(["run", "--strict", "--", "sh", "-c", listener.call], {
          env,
        });
        assert.deepEqual(attempts(stdout), { refused: ALL, done: [] }, stderr);
      }
      assert.deepEqual(await listener.heard(), []);
    });

    it("[X7] hears nothing at an abstract address from a command that runs with --no-network", async () => {
      using stage = new Stage(actor);
      await using listener = await Listener.start();
      assert.deepEqual(attempts(stage.insideDone(listener.call, "--no-network")).refused, ABSTRACT);
      assert.ok(!(await listener.heard()).some((line) => line.includes("abstract")));
    });

    it("hears a command that runs with neither, as it hears its user", async () => {
      using stage = new Stage(actor);
      await using listener = await Listener.start();
      assert.deepEqual(attempts(stage.insideDone(listener.call)), { refused: [], done: ALL });
      assert.deepEqual((await listener.heard()).toSorted(), ALL.toSorted());
    });

    it("does not keep a command that runs with --strict from sockets of its own", () => {
      using stage = new Stage(actor);
      const said = stage.insideDone(OWN_SOCKETS, "--strict", "--no-network");
      assert.equal(said, "trying\n./own: done\n/tmp/own: done\n@own: done\npair: done\n");
    });
  });
}

const OWN_SOCKETS = perlLine(`
  for my $path ("./own", "/tmp/own", "\\0own") {
    my $address = pack("S a*", 1, $path); my ($server, $client); (my $shown = $path) =~ s/\\0/@/;
    socket($server, 1, 1, 0) && bind($server, $address) && listen($server, 1); socket($client, 1, 1, 0);
    said($shown, connect($client, $address));
  }
  my ($one, $other); said("pair", socketpair($one, $other, 1, 1, 0));`);

/** What came of each attempt. */
function attempts(stdout: string): { readonly refused: readonly string[]; readonly done: readonly string[] } {
  const lines = stdout.split("\n");
  assert.equal(lines[0], "trying");
  const ending = (end: string) =>
    lines.filter((line) => line.endsWith(end)).map((line) => line.slice(0, -end.length));
  return { refused: ending(": refused"), done: ending(": done") };
}

/**
 * A program that listens at everything there is, in a folder of its own outside of /run and of temporary
 * folders, open to all.
 */
class Listener implements AsyncDisposable {
  readonly folder: string;
  readonly #running: Running;

  private constructor(folder: string) {
    this.folder = folder;
    const [file = "", ...args] = perlFile(folder, "listen.pl", LISTEN);
    this.#running = new Running(spawn(file, [...args, folder], { stdio: ["ignore", "pipe", "inherit"] }));
  }

  static async start(): Promise<Listener> {
    const base = process.geteuid?.() === 0 ? "/var/lib" : homedir();
    const folder = realpathSync(mkdtempSync(join(base, "drydock-listener-")));
    chmodSync(folder, 0o755);
    const listener = new Listener(folder);
    await listener.#running.until(() => listener.#running.stdout.includes("ready\n"));
    return listener;
  }

  /** A script that tries to be heard in every way. */
  get call(): string {
    return perlLine(CALL, this.folder);
  }

  /** Everything that was heard until now. */
  async heard(): Promise<readonly string[]> {
    writeFileSync(join(this.folder, "fifo"), "end");
    await this.#running.until(() => this.#running.stdout.endsWith("end\n"));
    return this.#running.stdout.split("\n").slice(2, -2);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#running.signal("SIGKILL");
    await this.#running.ended();
    removeFolder(this.folder);
  }
}

const ADDRESSES = `use Fcntl; my $folder = $ARGV[0]; my %address = map { $_ => pack("S a*", 1, "$folder/$_") } "stream", "datagram";
  $address{"abstract $_"} = pack("S a*", 1, "\\0$folder/$_") for "stream", "datagram";
  my %type = map { $_ => /stream/ ? 1 : 2 } keys %address;`;

const LISTEN = `${ADDRESSES} umask 0;
  system("mkfifo", "-m", "666", "$folder/fifo"); sysopen(my $fifo, "$folder/fifo", O_RDWR | O_NONBLOCK) or die $!;
  my %from = (fifo => $fifo); my $ended = 0;
  for my $name (keys %address) {
    socket(my $socket, 1, $type{$name}, 0) or die $!; bind($socket, $address{$name}) or die $!;
    if ($type{$name} == 1) { listen($socket, 5) or die $!; } $from{$name} = $socket;
  }
  print "ready\\n";
  while (1) {
    my $ready = ""; vec($ready, fileno($_), 1) = 1 for values %from; my $count = select($ready, undef, undef, $ended ? 0 : undef);
    if ($ended && $count == 0) { print "end\\n"; $ended = 0; next; }
    for my $name (keys %from) {
      next unless vec($ready, fileno($from{$name}), 1);
      if ($name =~ /stream/) { accept(my $peer, $from{$name}); print "$name\\n"; next; }
      sysread($from{$name}, my $text, 100); $ended = 1 if $text =~ s/end$//; print "$name\\n" if $text ne "";
    }
  }`;

const CALL = `${ADDRESSES} my %done;
  for my $name (keys %address) {
    socket(my $socket, 1, $type{$name}, 0) or next;
    $done{$name} = $type{$name} == 1 ? connect($socket, $address{$name}) : send($socket, "hello", 0, $address{$name});
  }
  my $fifo; $done{fifo} = sysopen($fifo, "$folder/fifo", O_WRONLY | O_NONBLOCK) && syswrite($fifo, "hello");
  said($_, $done{$_}) for "stream", "datagram", "fifo", "abstract stream", "abstract datagram";`;
