import { once } from "node:events";
import { join } from "node:path";
import { UsageError } from "../../core/errors/errors.ts";
import { bytesFromPath, displayPath } from "../../core/paths/byte-path.ts";
import type { DiffEditor, HandedChanges } from "../../plans/landing-views.ts";
import { programAmong } from "../../system/process/programs.ts";
import { startProcess } from "../../system/process/start-process.ts";
import type { CommandContext } from "../command-context.ts";
import type { Interruption } from "../interruption.ts";

/** Editors of files rather than folders: each file gets a tab with both of its versions. */
const VIMS = new Map([
  ["vimdiff", "vim -f"],
  ["nvimdiff", "nvim"],
  ["gvimdiff", "gvim -f"],
]);
const SHOWN = 3;

/**
 * The user's diff editor: `tool`, DRYDOCK_DIFF_EDITOR, meld on a desktop, or vim. It gets two folders, as
 * `$left` and `$right`, or as its last two arguments; what is in the right one afterwards lands if it ends
 * with 0.
 */
export function diffEditor(
  context: CommandContext,
  interruption: Interruption,
  tool: string | undefined,
): DiffEditor {
  const { output, environment } = context;
  const command = tool ?? chosenBy(environment);
  return {
    async edit(handed) {
      if (handed.unshown > 0)
        output.notice(`${handed.unshown} changes can't be shown in a diff editor, and stay in the plan.`);
      output.progress.clear();
      // Ctrl-C is the editor's.
      using _ = interruption.handOver(() => undefined);
      return await run(context, commandFor(command, handed), handed);
    },
    onIgnored(paths) {
      const named = paths.slice(0, SHOWN).map(displayPath).join(", ");
      const more = paths.length > SHOWN ? ` and ${paths.length - SHOWN} more` : "";
      output.warning(
        `The editor left files that are no changes of the plan, and do not land: ${named}${more}`,
      );
    },
  };
}

function chosenBy({ DRYDOCK_DIFF_EDITOR = "", DISPLAY, WAYLAND_DISPLAY, PATH = "" }: Environment): string {
  if (DRYDOCK_DIFF_EDITOR.trim() !== "") return DRYDOCK_DIFF_EDITOR;
  const isThere = (name: string) => programAmong(PATH.split(":"), name) !== undefined;
  if ((DISPLAY !== undefined || WAYLAND_DISPLAY !== undefined) && isThere("meld")) return "meld";
  if (isThere("vim")) return "vimdiff";
  if (isThere("nvim")) return "nvimdiff";
  throw new UsageError("There is no diff editor.", {
    hint: "Name one that takes two folders by --tool or DRYDOCK_DIFF_EDITOR, such as meld; vimdiff works too.",
  });
}

type Environment = CommandContext["environment"];

/** The command as a shell takes it. */
function commandFor(command: string, handed: HandedChanges): string {
  const vim = VIMS.get(command.trim());
  if (vim !== undefined) return `${vim} ${vimArguments(handed).map(quoted).join(" ")}`;
  return /\$\{?(?:left|right)\b/.test(command) ? command : `${command} "$left" "$right"`;
}

async function run(
  { output, environment }: CommandContext,
  command: string,
  handed: HandedChanges,
): Promise<boolean> {
  const set = Object.entries({ ...environment, left: handed.before, right: handed.after }).flatMap(
    ([name, value]) => (value === undefined ? [] : [[name, value] as const]),
  );
  // With a document on stdout, the editor's words go to stderr.
  const editor = startProcess(
    { file: "/bin/sh", args: ["-c", command], environment: Object.fromEntries(set), atTerminal: true },
    [0, output.terminal.interactive ? 1 : 2, 2],
  );
  const [code] = await once(editor, "exit");
  return code === 0;
}

/** A tab for each file, with the version of the original at its left. */
function vimArguments({ before, after, paths }: HandedChanges): readonly string[] {
  const tabs = paths.map((path, at) => {
    const [left, right] = [name(join(before, path)), name(join(after, path))];
    const open = at === 0 ? "edit" : "tabedit";
    return `exe '${open}' fnameescape(${right}) | diffthis | exe 'leftabove vsplit' fnameescape(${left}) | setlocal readonly nomodifiable | diffthis | wincmd p`;
  });
  // Vim takes few commands as arguments, so all are one.
  return ["-c", [...tabs, "tabfirst"].map((tab) => `exe ${name(tab)}`).join("|")];
}

/** A string of Vim's script. */
function name(text: string): string {
  const bytes = [...bytesFromPath(text)].map((byte) =>
    /[\w ./,|'()-]/.test(String.fromCharCode(byte))
      ? String.fromCharCode(byte)
      : `\\x${byte.toString(16).padStart(2, "0")}`,
  );
  return `"${bytes.join("")}"`;
}

function quoted(word: string): string {
  return `'${word.replaceAll("'", "'\\''")}'`;
}
