import { globSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { root } from "./step.ts";

/**
 * Rules of the house that no linter knows: a folder of src/ or page/ has few source files, so that its name
 * can say what they have in common; a comment fits beside another window; and only cli/ speaks of the command
 * line, because the readers of everything else are programmers too.
 */
const MOST_FILES = 15;
const WIDEST_COMMENT = 110;

/** Hints for readers that pass some things on to the user of a machine. */
const TOLD_TO_USERS = new Set(["src/serve/api-hints.ts", "src/mcp/agent-hints.ts"]);
/** A command of ours in quotes, or an option of ours in a sentence. */
const COMMAND_LINE =
  /'drydock [a-z]|drydock command|[ (]--(?:after-restart|allow|config|debug|force|limit|only|read-only|resource|state-dir|strict)/;

const problems = [...crowdedFolders(), ...wideComments(), ...commandsOutsideOfCli()];
for (const problem of problems) console.error(problem);
if (problems.length > 0) process.exitCode = 1;

function crowdedFolders(): readonly string[] {
  const counts = new Map<string, number>();
  for (const file of globSync(["src/**/*.ts", "page/**/*.{ts,tsx}"], { cwd: root })) {
    if (!file.endsWith(".test.ts")) counts.set(dirname(file), (counts.get(dirname(file)) ?? 0) + 1);
  }
  return [...counts]
    .filter(([, count]) => count > MOST_FILES)
    .map(([folder, count]) => `${folder} has ${count} source files; at most ${MOST_FILES} belong together.`);
}

function wideComments(): readonly string[] {
  const files = globSync(
    ["{src,page,test,bench,scripts}/**/*.{ts,tsx}", "bin/*.cjs", ".dependency-cruiser.cjs"],
    {
      cwd: root,
    },
  );
  return files.flatMap((file) =>
    readFileSync(join(root, file), "utf8")
      .split("\n")
      .flatMap((line, at) =>
        isComment(line) && line.length > WIDEST_COMMENT
          ? [`${file}:${at + 1}: a comment of ${line.length} columns; at most ${WIDEST_COMMENT}.`]
          : [],
      ),
  );
}

function commandsOutsideOfCli(): readonly string[] {
  const files = globSync("src/**/*.ts", { cwd: root }).filter(
    (file) => !file.startsWith("src/cli/") && !file.endsWith(".test.ts") && !TOLD_TO_USERS.has(file),
  );
  return files.flatMap((file) =>
    readFileSync(join(root, file), "utf8")
      .split("\n")
      .flatMap((line, at) =>
        !isComment(line) && COMMAND_LINE.test(line)
          ? [`${file}:${at + 1}: names the command line; say it by a code, and in cli/command-hints.ts.`]
          : [],
      ),
  );
}

/** A suppression of the linter has to stand on one line, however long its reason is. */
function isComment(line: string): boolean {
  return /^\s*(?:[/][/*]|[*](?:\s|$))/.test(line) && !/biome-ignore|c8 ignore/.test(line);
}
