import { globSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { root } from "./step.ts";

/**
 * Rules of the house that no linter knows: a folder of src/ has few source files, so that its name can say
 * what they have in common; and a comment fits beside another window.
 */
const MOST_FILES = 15;
const WIDEST_COMMENT = 110;

const problems = [...crowdedFolders(), ...wideComments()];
for (const problem of problems) console.error(problem);
if (problems.length > 0) process.exitCode = 1;

function crowdedFolders(): readonly string[] {
  const counts = new Map<string, number>();
  for (const file of globSync("src/**/*.ts", { cwd: root })) {
    if (!file.endsWith(".test.ts")) counts.set(dirname(file), (counts.get(dirname(file)) ?? 0) + 1);
  }
  return [...counts]
    .filter(([, count]) => count > MOST_FILES)
    .map(([folder, count]) => `${folder} has ${count} source files; at most ${MOST_FILES} belong together.`);
}

function wideComments(): readonly string[] {
  const files = globSync(["{src,test,bench,scripts}/**/*.ts", "bin/*.cjs", ".dependency-cruiser.cjs"], {
    cwd: root,
  });
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

/** A suppression of the linter has to stand on one line, however long its reason is. */
function isComment(line: string): boolean {
  return /^\s*(?:[/][/*]|[*](?:\s|$))/.test(line) && !/biome-ignore|c8 ignore/.test(line);
}
