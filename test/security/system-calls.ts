import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";

/**
 * Numbers of system calls that no program of a plain system makes on request. From 424 on they are the same
 * everywhere.
 */
const NUMBERS: { readonly [arch: string]: { readonly [call: string]: number } } = {
  x64: {
    ...{
      ptrace: 101,
      pivot_root: 155,
      mount: 165,
      umount2: 166,
      setxattr: 188,
      add_key: 248,
      request_key: 249,
    },
    ...{ keyctl: 250, unlinkat: 263, symlinkat: 266, unshare: 272, renameat2: 316 },
  },
  arm64: {
    ...{ ptrace: 117, pivot_root: 41, mount: 40, umount2: 39, setxattr: 5, add_key: 217, request_key: 218 },
    ...{ keyctl: 219, unlinkat: 35, symlinkat: 36, unshare: 97, renameat2: 276 },
  },
};

/**
 * A program of Perl, which every Debian has, with the numbers of system calls in `%call`. `attempt` makes one
 * and says on standard output what came of it: "WHAT: done" or "WHAT: refused"; `said` says that of anything.
 * The first line is "trying": an attack that is not even tried is no attack.
 */
function perlProgram(body: string): string {
  const numbers = Object.entries({ ...NUMBERS[process.arch], io_uring_setup: 425 });
  const program = `use strict; $| = 1;
my %call = (${numbers.map(([name, number]) => `${name} => ${number}`).join(", ")});
sub said { my ($what, $worked) = @_; print "$what: ", ($worked ? "done" : "refused"), "\\n"; return $worked; }
sub attempt { my ($what, $name, @rest) = @_; return said($what, syscall($call{$name}, @rest) >= 0); }
print "trying\\n";
${body}
`;
  const { status, stderr } = spawnSync("/usr/bin/perl", ["-c"], { input: program, encoding: "utf8" });
  assert.equal(status, 0, stderr);
  return program;
}

/** A line of a shell script that runs such a program, without a file of its own. */
export function perlLine(body: string, ...args: readonly string[]): string {
  return `/usr/bin/perl - ${args.map((arg) => `'${arg}'`).join(" ")} <<'END_OF_PERL'\n${perlProgram(body)}END_OF_PERL\n`;
}

/** Writes such a program into a folder; returns the command that runs it. */
export function perlFile(folder: string, name: string, body: string): readonly string[] {
  const file = join(folder, name);
  writeFileSync(file, perlProgram(body));
  return ["/usr/bin/perl", file];
}
