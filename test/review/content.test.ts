import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { after, before, describe, it } from "node:test";
import type { Browser, Page } from "playwright-core";
import { Workplace } from "../end-to-end/workplace.ts";
import { NO_BROWSER, Reviewed, startBrowser } from "./browser.ts";
import { picture } from "./picture.ts";

const RUNS = '<img src=x onerror="window.broken=1"><script>window.broken=1</script>';
/** Turns what follows around, and looks like lines of the page. */
const FAKES = "\u202etxt.exe\u202c\n+ 1 approved\u2028<b>approved</b>";
const AS_SHOWN = "\\u202etxt.exe\\u202c\\n+ 1 approved\\u2028<b>approved</b>";

/** A plan in which everything that has a name or a text has a hostile one. */
function hostilePlan(place: Workplace): void {
  place.folder("shop", { "a.txt": "one\n" });
  const file = join(place.folder("data", {}), "shop.db");
  const database = new DatabaseSync(file);
  database.exec("CREATE TABLE items (id TEXT PRIMARY KEY, v)");
  database.close();
  const site = join(place.path, "site");
  place.shell(
    "git init -q site && cd site && git -c user.name=u -c user.email=u@x commit -q --allow-empty -m first",
  );
  const resources = ["shop", site, file].flatMap((each) => ["-r", each]);
  place.done("plan", "create", ...resources, "--name", "work");
  const [folder, message] = [join(place.path, "message"), `${RUNS} \u202efdp\n\n${FAKES}`];
  writeFileSync(folder, message);
  place.done(
    "plan",
    "exec",
    "work",
    "--",
    "git",
    "-C",
    site,
    ...AUTHOR,
    "commit",
    "-q",
    "--allow-empty",
    "-F",
    folder,
  );
  place.done("plan", "checkpoint", "work", "--label", `${RUNS}\u202e`);
  const script = `CREATE TABLE "${RUNS.replaceAll('"', '""')}" ("<b>\u202e" TEXT); INSERT INTO items VALUES ('${FAKES}', '${RUNS}'), ('huge', zeroblob(900000));
    INSERT INTO "${RUNS.replaceAll('"', '""')}" VALUES ('${FAKES}')`;
  place.done("plan", "sql", "work", "shop.db", "-c", script);
  const at = place.done("plan", "path", "work", "shop").trim();
  const names = [
    "<img src=x onerror=window.broken=1>.txt",
    "back\u202etxt.exe",
    "new\nline: approved",
    "z".repeat(255),
  ];
  for (const name of names) writeFileSync(join(at, name), `${RUNS}\n\u202edrow\u202c \u200b\n`);
  writeFileSync(join(at, "a.txt"), "@@ -1,1 +1,1 @@\n+faked\n<b>bold</b>\n\u001b[31mred\r over\n");
  writeFileSync(join(at, "long.txt"), `${"x".repeat(300_000)}\n`);
  writeFileSync(Buffer.from(`${at}/\xff\xfe.bin`, "latin1"), Buffer.from([0, 1, 2, 0xff]));
}

const AUTHOR = ["-c", "user.name=u", "-c", "user.email=u@x"];

async function select(page: Page, name: string | RegExp): Promise<string> {
  await page.getByRole("tree").getByText(name).first().click();
  const article = page.getByRole("article");
  await article.getByText("Reading…").first().waitFor({ state: "detached" });
  return await article.innerText();
}

describe("contents on the page of a review", { skip: NO_BROWSER }, () => {
  let browser: Browser;
  before(async () => {
    browser = await startBrowser();
  });
  after(async () => await browser.close());

  it("[V5] are text and nothing else, as are names, commit messages and values: nothing runs, leaves the page or fakes a line of it", async () => {
    using place = new Workplace();
    hostilePlan(place);
    const viewport = { width: 1400, height: 1600 };
    await using reviewed = await Reviewed.start(browser, place, ["work"], { viewport });
    const page = await reviewed.open();
    const tree = page.getByRole("tree");
    await tree.getByText("back\\u202etxt.exe").waitFor();
    await tree.getByText("new\\nline: approved").waitFor();
    await tree.getByText("\\xff\\xfe.bin").click();
    await page.getByText("00 01 02 ff").waitFor();
    for (const name of ["<img src=x onerror=window.broken=1>.txt", "back\\u202etxt.exe", "z".repeat(255)]) {
      assert.ok((await select(page, name)).includes(RUNS));
      assert.equal(await page.locator(".diff .escape").first().textContent(), "\\u202e");
    }
    await select(page, /^a\.txt$/);
    const added = await page.locator("td.added.text code").allTextContents();
    assert.deepEqual(added, ["@@ -1,1 +1,1 @@", "+faked", "<b>bold</b>", "\\u001b[31mred\\r over"]);
    assert.match(await select(page, "long.txt"), /290,000 more characters/);
    await page.getByRole("button", { name: "290,000 more characters" }).click();
    await page.getByText("x".repeat(300_000)).waitFor();

    const commit = await select(page, /^(?:main|master)$/);
    assert.ok(commit.includes(`${RUNS} \\u202efdp`), commit);
    const values = await select(page, /^shop\.db\/items$/);
    assert.ok(values.includes(AS_SHOWN) && values.includes(RUNS), values);
    assert.match(values, /… cut, 878\.9 KiB in all/);
    const table = await select(page, /^%|^<img src=x onerror=.*script>$/);
    for (const text of ["<b>\\u202e", AS_SHOWN, "CREATE TABLE"]) assert.ok(table.includes(text), table);

    await page.keyboard.press("2");
    await page.getByText("checkpoint", { exact: false }).first().waitFor();
    await page.keyboard.press("3");
    await page.getByText(`${RUNS}\\u202e`).waitFor();
    // No element came of any text, and no line of the page is longer than the page.
    assert.equal(await page.locator("main :is(img, script, b)").count(), 0);
    assert.equal(await page.evaluate("document.documentElement.scrollWidth - innerWidth"), 0);
    assert.equal(await page.evaluate("window.broken"), undefined);
    assert.equal(page.url().startsWith(reviewed.origin), true);
    await page.keyboard.press("R");
    await page.getByRole("textbox").fill(RUNS);
    await page.keyboard.press("Control+Enter");
    const { stdout } = await reviewed.ended;
    assert.ok(stdout.includes(RUNS));
    assert.deepEqual(reviewed.complaints, []);
  });

  it("show what nobody sees: ends of lines, controls and bytes; and images by a slider, with the keyboard alone", async () => {
    using place = new Workplace();
    const shop = place.folder("shop", { "ends.txt": "a\r\nb\r\nc\r\n", "dos.txt": "a\r\nb\r\n" });
    writeFileSync(
      join(shop, "dot.png"),
      picture(40, 20, () => [255, 0, 0]),
    );
    place.done("plan", "create", "-r", shop, "--name", "work");
    const at = place.done("plan", "path", "work").trim();
    writeFileSync(join(at, "ends.txt"), "a\r\nb\nc\r\n");
    writeFileSync(join(at, "dos.txt"), "a\r\nB\r\n");
    writeFileSync(
      join(at, "dot.png"),
      picture(40, 20, (x) => [x * 6, 0, 255]),
    );
    await using reviewed = await Reviewed.start(browser, place, ["work"]);
    const page = await reviewed.open();
    assert.match(await select(page, "dos.txt"), /All lines end with CRLF/);
    assert.equal(await page.locator(".end-of-line, .escape").count(), 0);
    await select(page, "ends.txt");
    assert.deepEqual(await page.locator(".diff td.text code").allInnerTexts(), [
      ...["aCRLF", "aCRLF", "bCRLF", "b", "cCRLF", "cCRLF"],
    ]);
    assert.equal(await page.locator(".end-of-line.word").count(), 1, "the end that goes");

    await select(page, "dot.png");
    await page.getByRole("img", { name: "before the change" }).waitFor();
    await page.keyboard.press("d");
    for (const key of ["Tab", "Tab", "Enter", "Tab", "Tab"]) await page.keyboard.press(key);
    assert.equal(await page.evaluate("document.activeElement?.type"), "range");
    await page.keyboard.press("ArrowLeft");
    await page.getByText("49% after").waitFor();
    const look = async () => {
      await page.getByAltText("after the change").waitFor();
      return await page.evaluate(`(({ clipPath, opacity }) => [clipPath, opacity])(
        getComputedStyle(document.querySelector("img[alt='after the change']")))`);
    };
    assert.deepEqual(await look(), ["inset(0px 51% 0px 0px)", "1"]);
    await page.keyboard.press("Shift+Tab");
    await page.keyboard.press("Enter");
    await page.getByText("50% after").waitFor();
    assert.deepEqual(await look(), ["none", "0.5"]);
    assert.deepEqual(reviewed.complaints, []);
  });
});
