import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { bytesFromPath, type Entry, openDrydock, type Workspace } from "drydock-sandbox";

/**
 * A program that works in a workspace over the same folder with each of these strategies, and prints what it
 * found as one JSON document: {@link workspace.test.ts} starts it as one user or another.
 */
const [place = "", ...strategies] = process.argv.slice(2);
/** Two bytes of which the first is no UTF-8. */
const ODD = "odd\udcff\udcfe";

function makeOriginal(location: string, isCheckout: boolean): void {
  for (const folder of ["keep", "gone/deep", "moved/sub", "empty"])
    mkdirSync(join(location, folder), { recursive: true });
  for (const path of [
    "keep/a",
    "keep/b",
    "gone/deep/x",
    "moved/one",
    "moved/sub/two",
    "single",
    "over",
    "empty/kept",
  ])
    writeFileSync(join(location, path), `${path}\n`);
  writeFileSync(Buffer.concat([Buffer.from(`${location}/`), bytesFromPath(ODD)]), "odd\n");
  writeFileSync(join(place, "outside"), "secret\n");
  symlinkSync("../outside", join(location, "link"));
  symlinkSync("..", join(location, "out"));
  if (!isCheckout) return;
  const git = (...args: string[]) => execFileSync("git", ["-C", location, ...args]);
  git("init", "-q");
  git("add", ".");
  git("-c", "user.name=a", "-c", "user.email=b", "commit", "-qm", "1");
}

const shown = ({ path, kind, size, target }: Entry) =>
  [path, kind, kind === "file" ? size : "", target ?? ""].join(" ").trim();
const codeOf = async (call: Promise<unknown>): Promise<unknown> =>
  await call.then(
    () => "done",
    ({ code }) => code,
  );
const text = async (workspace: Workspace, path: string) =>
  Buffer.from(await workspace.readFile(path)).toString();

async function* pieces(count: number): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < count; at += 1) yield Buffer.alloc(1024 * 1024, at);
}

async function listed(workspace: Workspace): Promise<readonly string[]> {
  const found: string[] = [];
  for (let cursor: string | undefined = ""; cursor !== undefined; ) {
    const options = { recursive: true, limit: 3, ...(cursor !== "" && { cursor }) };
    const { entries, next } = await workspace.list(".", options);
    found.push(...entries.map(shown));
    cursor = next;
  }
  return found;
}

async function workIn(workspace: Workspace) {
  const before = await listed(workspace);
  await workspace.remove("single");
  const refused = [
    await codeOf(workspace.remove("gone")),
    await codeOf(workspace.remove("no-such")),
    await codeOf(workspace.remove(".", { recursive: true })),
    await codeOf(workspace.rename("over", "keep/a")),
    await codeOf(workspace.rename("moved", "moved/inside")),
    await codeOf(workspace.readFile("link")),
    await codeOf(workspace.readFile("out/outside")),
    await codeOf(workspace.writeFile("out/new", "bad")),
    await codeOf(workspace.remove("out/outside")),
    await codeOf(workspace.rename("keep/a", "out/a")),
    await codeOf(workspace.list("keep/a")),
    await codeOf(workspace.list("../..")),
  ];
  await workspace.remove("gone", { recursive: true });
  await workspace.rename("moved", "renamed/folder");
  await workspace.rename("keep/a", "keep/c");
  await workspace.rename("over", "single");
  await workspace.rename(ODD, `keep/${ODD}`);
  await workspace.makeFolder("made/inner");
  await workspace.writeFile("made/inner/file", "new\n");
  await workspace.rename("made/inner", "made/again");
  await workspace.makeFolder("gone");
  await workspace.writeFile("gone/new", "new\n");
  await workspace.rename("link", "link-moved");
  await workspace.writeFile("keep/b", "changed\n");
  await workspace.rename("keep/b", "keep/d");
  await workspace.writeFile("large", pieces(5));
  const part = await workspace.readFile("large", { offset: 2 * 1024 * 1024 - 1, length: 3 });
  let size = 0;
  for await (const piece of workspace.readStream("large")) size += piece.length;
  await workspace.remove("large");
  const matched = await workspace.list(".", { recursive: true, match: "**/one" });
  const prefixed = await workspace.list(".", { recursive: true, prefix: "keep/" });
  return {
    before,
    refused,
    part: [...part],
    size,
    odd: await text(workspace, `keep/${ODD}`),
    two: await text(workspace, "renamed/folder/sub/two"),
    missing: (await workspace.stat("over")) === undefined,
    stat: shown((await workspace.stat("keep/d")) as Entry),
    matched: matched.entries.map(({ path }) => path),
    prefixed: prefixed.entries.map(({ path }) => path),
    after: await listed(workspace),
    run: (await workspace.run(["sh", "-c", "cat keep/c; ls keep"])).stdout.text,
    inside: await listed(workspace),
  };
}

await using drydock = await openDrydock();
const results: object[] = [];
for (const way of strategies) {
  const location = join(place, way);
  const [strategy = "", mounted] = way.split(":");
  makeOriginal(location, strategy === "git_worktree");
  const resources = [{ location, strategy, name: "app" }];
  const withoutPaths = mounted === "unmounted";
  const plan = await drydock.plans.create({ resources, allowIrreversible: true, withoutPaths });
  await using workspace = plan.workspace();
  const work = await workIn(workspace);
  const pages: string[] = [];
  for (let cursor: string | undefined; ; ) {
    const page = await workspace.diff({ limit: 4, ...(cursor !== undefined && { cursor }) });
    pages.push(...page.changes.map(({ operation, path }) => `${operation} ${path}`));
    cursor = page.next;
    if (cursor === undefined) break;
  }
  const whole = await plan.diff();
  const changes = whole.changes.map(({ operation, path }) => `${operation} ${path}`);
  await plan.apply();
  const landed = execFileSync("find", [".", "-path", "./.git", "-prune", "-o", "-printf", "%P %y\\0"], {
    cwd: location,
  });
  results.push({
    way,
    ...work,
    pagesAreWhole: JSON.stringify(pages) === JSON.stringify(changes),
    changes,
    landed: landed
      .toString("latin1")
      .split("\0")
      .filter((line) => line.length > 2)
      .sort(),
    outside: existsSync(join(place, "outside")) ? readFileSync(join(place, "outside"), "utf8") : "gone",
  });
}
console.log(JSON.stringify(results));
