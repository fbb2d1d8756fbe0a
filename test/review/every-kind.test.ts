import assert from "node:assert/strict";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { describe, it } from "node:test";
import type { Page } from "playwright-core";
import { startServer } from "../databases/held-scene.ts";
import { Workplace } from "../end-to-end/workplace.ts";
import { whyNoServer } from "../support/database-servers.ts";
import { IS_LONG } from "../support/long-form.ts";
import { NO_BROWSER, Reviewed, startBrowser } from "./browser.ts";

/** Only root can give a file to another user. */
const IS_ROOT = process.getuid?.() === 0;

/** A plan over a folder, a checkout, a database and a single file: it changes something of every kind. */
function planOverEverything(place: Workplace): void {
  const app = place.folder("app", {
    ...{
      "long.txt": "one\n",
      "run.sh": "#!/bin/sh\n",
      "owned.txt": "o\n",
      "marked.txt": "m\n",
      "gone.txt": "g\n",
    },
    ...{
      "moved.txt": "the same\n",
      "package-lock.json": "{}\n",
      "dist/a.min.js": "a()\n",
      "kind.txt": "k\n",
    },
  });
  place.shell(
    "ln -s old app/link && mkdir site && git init -q site && cd site && echo a > a.txt && git add . && git -c user.name=u -c user.email=u@x commit -qm first",
  );
  const file = join(place.folder("data", {}), "shop.db");
  const database = new DatabaseSync(file);
  database.exec(
    `CREATE TABLE items (id INTEGER PRIMARY KEY, name TEXT, price); CREATE TABLE sold (id INTEGER PRIMARY KEY, name);
     INSERT INTO items VALUES (1, 'tea', 320), (2, 'milk', 99); INSERT INTO sold VALUES (1, 'tea'), (2, 'milk')`,
  );
  database.close();
  place.write("notes.txt", "call\n");
  const resources = [app, join(place.path, "site"), file, join(place.path, "notes.txt")];
  place.done("plan", "create", "--name", "all", ...resources.flatMap((each) => ["-r", each]));
  const script = `set -e; cd ${app}
    seq 1 1700 > long.txt; chmod 755 run.sh; ${IS_ROOT ? "chown 12:13" : "true"} owned.txt; setfattr -n user.note -v x marked.txt
    rm gone.txt; mv moved.txt renamed.txt; ln -sfn new link; mkfifo pipe; mkdir empty; rm kind.txt; ln -s a kind.txt
    echo '{"lockfileVersion":3}' > package-lock.json; echo 'b()' > dist/a.min.js; head -c 5000 /dev/zero > blob.bin
    cd ../site; echo b > a.txt; git -c user.name=u -c user.email=u@x commit -qam second; echo c > c.txt
    echo write > ../notes.txt`;
  place.done("plan", "exec", "all", "--", "sh", "-c", script);
  place.done(
    ...["plan", "sql", "all", "shop.db", "-c"],
    `UPDATE items SET price = 340 WHERE id = 1; DELETE FROM items WHERE id = 2;
     WITH RECURSIVE n(v) AS (SELECT 10 UNION ALL SELECT v + 1 FROM n WHERE v < 160)
     INSERT INTO items SELECT v, 'n' || v, 1 FROM n; ALTER TABLE sold ADD COLUMN at; UPDATE sold SET at = 'now' WHERE id = 2;
     CREATE INDEX by_name ON items (name)`,
  );
}

/** What the page shows of a change: its facts, and its content. */
async function select(page: Page, name: RegExp, level = 2): Promise<string> {
  await page.getByRole("treeitem", { name, level }).first().click();
  const article = page.getByRole("article");
  await article.getByText("Reading…").waitFor({ state: "detached" });
  return (await article.innerText()).replace(/\s+/g, " ");
}

describe("everything that a plan changes, on the page of a review", { skip: NO_BROWSER }, () => {
  it("[V1] is shown, of every kind of resource, and whatever is folded or cut is counted and said", async () => {
    await using browser = await startBrowser();
    using place = new Workplace();
    planOverEverything(place);
    await using reviewed = await Reviewed.start(browser, place, ["all"], {
      viewport: { width: 1400, height: 6000 },
    });
    const page = await reviewed.open();
    const { changes } = place.answer("plan", "diff", "all") as {
      changes: readonly { resource: string; path: string; operation: string }[];
    };
    await page.getByText(`${changes.length} changes`, { exact: true }).waitFor();
    // Nothing of a folded group is in the list until it is opened, but its number is.
    const folded = page.getByRole("treeitem", { name: /Lock files and generated code/ });
    assert.match((await folded.textContent()) ?? "", /2$/);
    assert.equal(await page.getByRole("treeitem", { name: /package-lock/ }).count(), 0);
    await folded.click();
    await folded.press("ArrowRight");
    await page.getByRole("treeitem", { name: /package-lock/ }).waitFor();
    const items = page.getByRole("treeitem");
    const renamed = 1;
    assert.equal(
      await items.locator(".letter").count(),
      changes.length - renamed,
      "each change has its line",
    );

    const facts: readonly (readonly [name: RegExp, shown: RegExp])[] = [
      [/run\.sh/, /mode 644 → 755/],
      ...(IS_ROOT ? [[/owned\.txt/, /owner 0:0 → 12:13/] as const] : []),
      [/marked\.txt/, /attributes/],
      [/link/, /to old → new/],
      [/gone\.txt/, /deleted.*−\s*g/],
      [/renamed\.txt/, /renamed from moved\.txt/],
      [/kind\.txt/, /typechanged.*to a/],
      [/pipe/, /fifo/],
      [/empty/, /directory/],
      [/long\.txt/, /201 more lines\. Show the next 201/],
      [/blob\.bin/, /000000 00 00.*904 more bytes are not shown/],
      [/a\.min\.js/, /b\(\)/],
      [/notes\.txt/, /write/],
      [/c\.txt/, /added.*c/],
      [/main|master/, /1 commit on \w+: second/],
      [/by_name/, /CREATE INDEX by_name ON items \(name\)/],
      [
        /sold/,
        /− CREATE TABLE sold.*\+ CREATE TABLE sold.*name, at\).*no column → now.*1 other row stays as it is/,
      ],
      [/M\s*1\b/, /price 320 340/],
    ];
    for (const [name, shown] of facts) assert.match(await select(page, name), shown);

    const rows = await select(page, /shop\.db\/items/, 1);
    assert.match(rows, /id key name price ~ 1 tea 320 → 340 − 2 milk 99 \+ 10 n10 1/);
    assert.match(rows, /53 more rows/);
    await page.getByRole("button", { name: "Show the next rows" }).click();
    await page.getByRole("cell", { name: "n160", exact: true }).waitFor();
    assert.equal(await page.locator(".rows tbody tr").count(), 153);
    assert.equal(await page.getByText("more rows").count(), 0);
    assert.deepEqual(reviewed.complaints, []);
  });

  if (IS_LONG && whyNoServer("postgres") === undefined)
    it("[V1] under a statement on PostgreSQL are the rows that the plan changes in its table", async () => {
      const server = await startServer("postgres");
      try {
        await server.sql("CREATE TABLE items (id INT PRIMARY KEY, name TEXT)");
        await server.sql("INSERT INTO items VALUES (1, 'tea'), (2, 'milk')");
        await using browser = await startBrowser();
        using place = new Workplace();
        place.done("plan", "create", "--name", "db", "-r", server.url());
        const script = "UPDATE items SET name = 'TEA' WHERE id = 1; DELETE FROM items WHERE id = 2";
        place.done("plan", "sql", "db", "app", "-c", script);
        await using reviewed = await Reviewed.start(browser, place, ["db"]);
        const page = await reviewed.open();
        const shown = await select(page, /statement-1/);
        assert.match(shown, /UPDATE items SET.*All that the plan changes.*~ 1 tea → TEA − 2 milk/);
        assert.deepEqual(reviewed.complaints, []);
        place.done("plan", "cancel", "db");
      } finally {
        server.remove();
      }
    });
});
