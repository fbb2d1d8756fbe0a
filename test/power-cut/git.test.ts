import { mkdirSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import { IMAGE_FILE_SYSTEMS, whyNoImages } from "../support/file-systems.ts";
import { IS_LONG } from "../support/long-form.ts";
import { TestRepository } from "../support/test-repository.ts";
import { assertAllOrNothing, assertLosesWithout } from "./all-or-nothing.ts";
import type { Originals } from "./cut-landings.ts";

const FILES = 6;
/** All of ours; what git writes, git flushes. */
const FLUSHES_OFF = [
  "git-landing.flush-locks",
  "git-landing.flush",
  "git.flush-locks",
  "git.flush",
  "landings.flush-staged",
  "landings.flush-landed",
]
  .map((name) => `${name}=skip`)
  .join();
const noImages = whyNoImages();
const rooted = noImages === undefined ? { timeout: 170_000 } : { skip: noImages };

/**
 * Moments of an apply to two checkouts: while their locks are taken, before the decision, and between the
 * steps of both landings.
 */
const MOMENTS = [
  "git-lock.take:1",
  "git-lock.take:3",
  "git.fetch:1",
  "git-landing.flush:1",
  "git-lock.take:6",
  "git-landing.flush:2",
  "land.exchange:1",
  "git.refresh-index:1",
  "git-lock.move:1",
  "git-lock.move:2",
  "git-lock.release:1",
  "git.flush:1",
  "git-landing.done:1",
  "git-lock.move:3",
  "git-lock.move:4",
  "git-landing.done:2",
] as const;
/** After the decision, which the checkouts have to follow. */
const DECIDED = ["git-lock.move:1", "git-lock.move:2", "git-landing.done:1", "git-landing.done:2"] as const;

/** Moments of an apply to two checkouts at their own path, whose commits land as they are. */
const IN_PLACE_MOMENTS = [
  "git-lock.take:1",
  "git.fetch:1",
  "git-landing.flush:1",
  "git.fetch:2",
  "land.exchange:1",
  "git-lock.move:1",
  "git-lock.move:2",
  "git-landing.done:1",
  "git-lock.move:4",
  "git.flush:2",
  "git-landing.done:2",
] as const;

const SHORT: readonly string[] = ["git.fetch:1", "git-lock.move:2"];

/** In a short run every fifth moment, on one file system. */
const moments = MOMENTS.filter((_, at) => IS_LONG || at % 5 === 1);
const fileSystems = IMAGE_FILE_SYSTEMS.filter((_, at) => IS_LONG || at === 0);

/** Checkouts, each with something uncommitted of the user's. */
const checkouts: Originals = {
  strategy: "git_worktree",
  make: (folder) => {
    const repository = new TestRepository(folder);
    repository.git("init", "-q", "-b", "main");
    fill(folder, "old");
    writeFileSync(join(folder, "goes"), "old\n");
    repository.write("dirty", "committed\n");
    repository.commitAll("begin");
    repository.write("dirty", "of the user\n");
  },
  change: (path) => {
    fill(path, "new");
    rmSync(join(path, "goes"));
    mkdirSync(join(path, "comes"));
    writeFileSync(join(path, "comes", "file"), content("new", 99));
  },
  differences: (folder, side) => differencesIn(folder, side, "3"),
};

/** The same, at their own path, where what is done is committed. */
const inPlace: Originals = {
  ...checkouts,
  strategy: "overlay",
  change: (path) => {
    checkouts.change(path);
    const repository = new TestRepository(path);
    repository.git("add", "--all", "--", ".", ":!dirty");
    repository.git("commit", "-q", "-m", "inside");
    repository.git("tag", "made");
  },
  differences: (folder, side) => {
    const tags = new TestRepository(folder).git("tag", "--list");
    const isRight = tags === (side === "old" ? "" : "made");
    return [...differencesIn(folder, side, "2"), ...(isRight ? [] : [`tags: ${tags}`])];
  },
};

/** `commits` is how many there are when all has landed. */
function differencesIn(folder: string, side: "old" | "new", commits: string): string[] {
  try {
    return differences(new TestRepository(folder), side, commits);
  } catch (thrown) {
    return [String(thrown)];
  }
}

function fill(folder: string, side: "old" | "new"): void {
  for (let at = 0; at < FILES; at += 1) writeFileSync(join(folder, `file-${at}`), content(side, at));
}

function content(side: "old" | "new", at: number): string {
  return `${side} ${at}\n`.repeat(2000);
}

/**
 * What is not as it should be: branch, index and files say the same, git finds nothing wrong, and nothing of
 * ours is left.
 */
function differences(repository: TestRepository, side: "old" | "new", commits: string): string[] {
  const wanted = new Map<string, string>([["dirty", "of the user\n"]]);
  for (let at = 0; at < FILES; at += 1) wanted.set(`file-${at}`, content(side, at));
  if (side === "old") wanted.set("goes", "old\n");
  else wanted.set("comes/file", content("new", 99));
  const names = readdirSync(repository.path, { recursive: true, encoding: "utf8" });
  const strangers = names.filter((name) => !/^(?:\.git(?:$|\/)|comes$)/.test(name) && !wanted.has(name));
  const wrong = [...wanted].filter(([name, text]) => !repository.has(name) || repository.read(name) !== text);
  const said = {
    status: repository.status(),
    branch: repository.git("symbolic-ref", "HEAD"),
    commits: repository.git("rev-list", "--count", "HEAD"),
    "end of the log": repository.git("rev-parse", "HEAD@{0}") === repository.head(),
    fsck: repository.git("fsck", "--strict", "--no-dangling"),
    traces: repository.traces(),
  };
  const should = {
    status: " M dirty",
    branch: "refs/heads/main",
    commits: side === "old" ? "1" : commits,
    "end of the log": true,
    fsck: "",
    traces: [],
  };
  return [
    ...strangers.map((name) => `${name} should not be there`),
    ...wrong.map(([name]) => `${name} is not ${side}`),
    ...Object.entries(should).flatMap(([what, value]) => {
      const seen = JSON.stringify(said[what as keyof typeof said]);
      return seen === JSON.stringify(value) ? [] : [`${what}: ${seen} instead of ${JSON.stringify(value)}`];
    }),
  ];
}

describe("A power cut during an apply to git checkouts", () => {
  for (const kind of fileSystems)
    it(
      `[A3][T2] on ${kind} leaves all old or all new, branch, index and files, whatever the moment`,
      rooted,
      () => assertAllOrNothing(kind, checkouts, moments),
    );

  for (const kind of fileSystems)
    it(
      `[A3][G8] on ${kind} does so at their own path, with commits and tags that were made inside`,
      rooted,
      () =>
        assertAllOrNothing(
          kind,
          inPlace,
          IN_PLACE_MOMENTS.filter((moment) => IS_LONG || SHORT.includes(moment)),
        ),
    );

  it("[A3] would not, with the flushes switched off: so this test can tell", rooted, () =>
    assertLosesWithout(FLUSHES_OFF, checkouts, DECIDED),
  );

  if (IS_LONG)
    it("[A3][G8] would not at their own path either, with the flushes switched off", rooted, () =>
      assertLosesWithout(FLUSHES_OFF, inPlace, ["git-lock.move:1", "git-landing.done:2"]),
    );
});
