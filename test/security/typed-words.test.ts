import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import { ACTORS, Stage } from "../run/stage.ts";
import { OuterShell } from "./outer-shell.ts";
import { perlFile } from "./system-calls.ts";

/** How a command leaves after it has typed words into its terminal, and how it was called. */
const WAYS: readonly { readonly leaves: string; readonly options?: string; readonly redirects?: string }[] = [
  { leaves: "STOP" },
  { leaves: "TSTP" },
  { leaves: "KILL" },
  { leaves: "STOP", options: "--strict --no-network" },
  { leaves: "STOP", redirects: "< /dev/null > /dev/null" },
  { leaves: "KILL", redirects: "< /dev/null > /dev/null 2>&1" },
];

for (const actor of ACTORS) {
  describe(`Words that a command of ${actor} types into its terminal`, () => {
    for (const { leaves, options = "", redirects = "" } of WAYS)
      it(`[X10] are not run by the user's shell when it leaves by ${[`SIG${leaves}`, options, redirects].filter(Boolean).join(" ")}`, async () => {
        using stage = new Stage(actor);
        const type = perlFile(stage.project, "type.pl", TYPE).join(" ");
        stage.give();
        const shell = await OuterShell.open(stage);
        shell.type(
          `"$DRYDOCK" run --keep ${options} -- ${type} ${leaves} 'touch ${stage.path}/typed' ${redirects}; echo a''fter $?\n`,
        );
        await shell.see(/after \d+\r\n/);
        // What is typed now comes behind what may be there.
        shell.type("echo b''ehind\n");
        await shell.see(/behind\r\n/);
        assert.ok(!existsSync(join(stage.path, "typed")), shell.said);
      });
  });
}

/** Types a line into every terminal that it can get at, and leaves with its whole group. */
const TYPE = `
  my ($signal, $line) = @ARGV;
  for my $path ("/dev/tty", "/dev/stdin", "/dev/stdout", "/dev/stderr", "/dev/console") {
    open(my $terminal, "+<", $path) or next;
    ioctl($terminal, 0x5412, my $key = $_) for split(//, "$line\\n");
  }
  kill($signal, 0); select(undef, undef, undef, 0.2);`;
