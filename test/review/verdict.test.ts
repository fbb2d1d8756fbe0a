import assert from "node:assert/strict";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import type { Browser } from "playwright-core";
import { Workplace } from "../end-to-end/workplace.ts";
import { NO_BROWSER, Reviewed, startBrowser } from "./browser.ts";

/** A Workplace with a plan that changes two files. */
function placeWithPlan(): Workplace {
  const place = new Workplace();
  const folder = place.folder("shop", { "prices.txt": "tea: 3\ncoffee: 4\n", "old.txt": "old\n" });
  place.done("plan", "create", "-r", folder, "--name", "raise");
  write(place, "prices.txt", "tea: 4\\ncoffee: 4\\n");
  write(place, "new.txt", "new\\n");
  return place;
}

function write(place: Workplace, path: string, text: string): void {
  place.shell(`printf "${text}" | "$DRYDOCK" plan write raise shop ${path}`);
}

describe("the verdict of a review", { skip: NO_BROWSER }, () => {
  let browser: Browser;
  before(async () => {
    browser = await startBrowser();
  });
  after(async () => await browser.close());

  it("is an approval of exactly what was shown, given with the keyboard alone; the command ends with 0", async () => {
    using place = placeWithPlan();
    await using reviewed = await Reviewed.start(browser, place, ["raise", "--json"]);
    const page = await reviewed.open();
    await page.getByRole("heading", { name: "new.txt" }).waitFor();
    await page.keyboard.press("j");
    await page.getByRole("heading", { name: "prices.txt" }).waitFor();
    await page.locator("tr.deleted, td.deleted").first().waitFor();
    await page.keyboard.press("A");
    const question = page.getByRole("dialog", { name: "Approve exactly these changes?" });
    await question.getByRole("button", { name: "Approve", disabled: false }).waitFor();
    await page.keyboard.press("Tab");
    await page.keyboard.press("Enter");
    await page.getByText("Approved. You can close this window.").waitFor();
    const { status, stdout, stderr } = await reviewed.ended;
    assert.equal(status, 0, stderr);
    const verdict = JSON.parse(stdout);
    assert.equal(verdict.verdict, "approved");
    assert.equal(verdict.digest, place.answer("plan", "diff", "raise").digest);
    place.done("plan", "apply", "raise", "--approved");
    assert.equal(place.read("shop/prices.txt"), "tea: 4\ncoffee: 4\n");
    assert.match(place.done("plan", "log", "raise"), /via page/);
  });

  it("is a wish for changes, in the reviewer's words; the command prints them and ends with 1", async () => {
    using place = placeWithPlan();
    await using reviewed = await Reviewed.start(browser, place, ["raise"]);
    const page = await reviewed.open();
    await page.getByRole("button", { name: "Ask for changes" }).click();
    await page.getByRole("textbox", { name: "What should change" }).fill("Tea stays at 3.\nDrop new.txt.");
    await page.getByRole("dialog").getByRole("button", { name: "Ask for changes" }).click();
    await page.getByText("You asked for changes.").waitFor();
    const { status, stdout } = await reviewed.ended;
    assert.equal(status, 1);
    assert.match(stdout, /^Changes asked for raise:\nTea stays at 3\.\nDrop new\.txt\.\n/);
  });

  it("is none when the reviewer closes it, by a button or with the last window, but not when it loads again; exit 2", async () => {
    using place = placeWithPlan();
    await using reviewed = await Reviewed.start(browser, place, ["raise"]);
    const page = await reviewed.open();
    await page.getByRole("treeitem", { name: /new\.txt/ }).waitFor();
    await page.reload();
    await page.getByRole("treeitem", { name: /new\.txt/ }).waitFor();
    const second = await reviewed.context.newPage();
    await second.goto(reviewed.origin);
    await second.getByRole("treeitem", { name: /new\.txt/ }).waitFor();
    await page.close();
    await reviewed.running.assertRunning();
    await second.keyboard.press("q");
    await second.getByRole("dialog").getByRole("button", { name: "Close the review" }).click();
    const { status, stdout } = await reviewed.ended;
    assert.equal(status, 2);
    assert.match(stdout, /closed without a verdict/);
  });

  it("can't be given on what the reviewer has not seen: what moves is shown in both windows, and refused", async () => {
    using place = placeWithPlan();
    await using reviewed = await Reviewed.start(browser, place, ["raise"]);
    const page = await reviewed.open();
    await page.getByRole("treeitem", { name: /new\.txt/ }).waitFor();
    const second = await reviewed.context.newPage();
    await second.goto(reviewed.origin);
    await second.getByRole("treeitem", { name: /new\.txt/ }).waitFor();
    await page.getByRole("button", { name: "Approve", exact: true }).click();
    write(place, "late.txt", "late\\n");
    for (const window of [page, second]) {
      await window.getByRole("treeitem", { name: /late\.txt/ }).waitFor();
      await window.getByText("The changes have moved since you opened the plan").waitFor();
    }
    await page.getByText("The changes have moved since you asked").waitFor();
    assert.equal(await page.getByRole("dialog").getByRole("button", { name: "Approve" }).isDisabled(), true);
    await reviewed.running.assertRunning();
    assert.deepEqual(reviewed.complaints, []);
  });

  it("lands all of it at once, shows how far that is, and takes it back", async () => {
    using place = placeWithPlan();
    const at = place.done("plan", "path", "raise").trim();
    place.shell(`mkdir ${at}/many && cd ${at}/many && seq 1 4000 | xargs touch`);
    await using reviewed = await Reviewed.start(browser, place, ["raise"]);
    const page = await reviewed.open();
    await page.getByRole("treeitem", { name: /new\.txt/ }).waitFor();
    await page.keyboard.press("L");
    // It may be there for a moment only.
    await page.evaluate(`window.seen = []; new MutationObserver(() => {
      window.seen.push(document.querySelector(".how-far")?.textContent ?? "");
    }).observe(document.body, { subtree: true, childList: true, characterData: true })`);
    await page.getByRole("dialog").getByRole("button", { name: "Land it" }).click();
    await page.getByText("It has landed.").waitFor();
    const seen = await page.evaluate<readonly string[]>("window.seen");
    assert.ok(
      seen.some((text) => /^\w+ shop [\d,]+/.test(text)),
      seen.join("\n"),
    );
    assert.equal(await page.getByRole("progressbar").count(), 0);
    assert.equal(place.read("shop/new.txt"), "new\n");
    await page.getByRole("button", { name: "Undo" }).click();
    await page.getByText("It is undone.").waitFor();
    assert.deepEqual(Object.keys(place.tree("shop")), ["old.txt", "prices.txt"]);
  });
});

describe("a review that is killed", () => {
  for (const point of ["private-page.folder", "private-page.write", "private-page.remove"])
    it(`at ${point} leaves nothing that the next one does not remove`, async () => {
      using place = placeWithPlan();
      const env = { BROWSER: "true", DRYDOCK_FAILPOINT: `${point}=kill` };
      const running = place.start(["review", "raise"], env);
      const ended = running.ended();
      if (point === "private-page.remove") {
        await running.until(() => /Waiting/.test(running.stderr));
        running.signal("SIGTERM");
      }
      assert.equal((await ended).signal, "SIGKILL", running.stderr);
      const next = place.start(["review", "raise"], { BROWSER: "true" });
      await next.until(() => /The review is open in your browser/.test(next.stderr));
      const pages = () => readdirSync(join(place.state, "serve")).filter((name) => name.startsWith("page-"));
      assert.deepEqual(pages(), [`page-${next.pid}.html`]);
      next.signal("SIGTERM");
      assert.equal((await next.ended()).status, 2);
      assert.deepEqual(pages(), []);
    });
});
