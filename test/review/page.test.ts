import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { AxeBuilder } from "@axe-core/playwright";
import type { Browser, Locator, Page } from "playwright-core";
import { McpClient } from "../agents/mcp-client.ts";
import { Workplace } from "../end-to-end/workplace.ts";
import { IS_LONG } from "../support/long-form.ts";
import { NO_BROWSER, Reviewed, startBrowser } from "./browser.ts";
import { picture } from "./picture.ts";
import { makeShowcase } from "./showcase.ts";

/** A plan over a folder, and where its sandbox is. */
function planOver(place: Workplace, files: { readonly [path: string]: string }): string {
  place.done("plan", "create", "-r", place.folder("shop", files), "--name", "work");
  return place.done("plan", "path", "work").trim();
}

/** Goes to an element as people without a mouse do, once it can be used. */
async function tabTo(page: Page, wanted: Locator): Promise<void> {
  await wanted.and(page.locator(":enabled, a")).waitFor();
  for (let presses = 0; presses < 30; presses += 1) {
    if (await wanted.evaluate((each) => each.matches(":focus"))) return;
    await page.keyboard.press("Tab");
  }
  assert.fail("no number of tabs leads there");
}

async function violations(page: Page): Promise<readonly string[]> {
  // Otherwise it opens a window of its own, which the policy of the page keeps apart from it.
  const found = await new AxeBuilder({ page }).setLegacyMode().analyze();
  return found.violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).join(" ")}`);
}

describe("the page of a review", { skip: NO_BROWSER }, () => {
  let browser: Browser;
  before(async () => {
    browser = await startBrowser();
  });
  after(async () => await browser.close());

  it("[V6] is readable for everybody: no rule of axe is broken, light, dark and narrow", async () => {
    using place = new Workplace();
    const { plan, select } = makeShowcase(place);
    await using reviewed = await Reviewed.start(browser, place, [plan]);
    const page = await reviewed.open();
    for (const [turn, colorScheme] of (["light", "dark"] as const).entries()) {
      await page.emulateMedia({ colorScheme });
      for (const [at, [view, show]] of Object.entries(select).entries()) {
        await show(page);
        // In a normal run each view is looked at in one of them.
        if (IS_LONG || at % 2 === turn)
          assert.deepEqual(await violations(page), [], `${view}, ${colorScheme}`);
      }
      await page.goto(`${reviewed.origin}/#/plan/${plan}`);
    }
    await select.plan(page);
    await page.setViewportSize({ width: 390, height: 780 });
    assert.deepEqual(await violations(page), [], "narrow");
    assert.equal(await page.evaluate("document.documentElement.scrollWidth - innerWidth"), 0);
    assert.deepEqual(reviewed.complaints, []);
  });

  it("[V6] leads by keys alone from the list of plans to one that has landed, in the dark", async () => {
    using place = new Workplace();
    writeFileSync(join(planOver(place, { "a.txt": "one\n" }), "a.txt"), "two\n");
    await using agent = await McpClient.start(place);
    await agent.done("plan_request_review", { plan: "work" });
    await using reviewed = await Reviewed.start(browser, place, [], { colorScheme: "dark" });
    const page = await reviewed.open();
    const link = (section: string) => page.getByRole("region", { name: section }).getByRole("link");
    await link("Waiting for review").waitFor();
    await tabTo(page, link("Waiting for review"));
    await page.keyboard.press("Enter");
    await page.getByRole("treeitem", { name: /a\.txt/, selected: true }).waitFor();
    await page.keyboard.press("a");
    await page.getByRole("treeitem", { name: /a\.txt.*approved/ }).waitFor();
    await page.keyboard.press("c");
    await page.getByRole("dialog").getByRole("textbox").waitFor();
    await page.keyboard.type("Good.");
    await page.keyboard.press("Control+Enter");
    await page.getByText("Good.").waitFor();
    await page.keyboard.press("2");
    await page.getByRole("list", { name: "What happened" }).getByText("commented").waitFor();
    const question = (title: RegExp) => page.getByRole("dialog", { name: title });
    for (let time = 0; time < 10; time += 1) {
      await page.keyboard.press("q");
      await question(/Close the review/).waitFor();
      // A hand is quick: the second key comes before the browser tells that the first one closed a dialog.
      await page.keyboard.press("Escape");
      await page.keyboard.press("A");
      await question(/Approve exactly/).waitFor();
      await page.keyboard.press("Escape");
      await question(/Approve exactly/).waitFor({ state: "hidden" });
    }
    await page.keyboard.press("L");
    await tabTo(page, page.getByRole("dialog").getByRole("button", { name: "Land it" }));
    await page.keyboard.press("Enter");
    await page.getByText("It has landed.").waitFor();
    assert.equal(place.read("shop/a.txt"), "two\n");
    await page.keyboard.press("g");
    await link("Landed").waitFor();
    assert.equal(await link("Waiting for review").count(), 0);
    assert.deepEqual(reviewed.complaints, []);
  });

  it("[V3] keeps words on files and comments on lines with the plan: after a crash, in two windows, for the agent", async () => {
    using place = new Workplace();
    const at = planOver(place, { "a.txt": "one\ntwo\n", "b.txt": "b\n" });
    writeFileSync(join(at, "a.txt"), "one\nTWO\n");
    writeFileSync(join(at, "b.txt"), "B\n");
    writeFileSync(
      join(at, "dot.png"),
      picture(1, 1, () => [255, 0, 0]),
    );
    await using reviewed = await Reviewed.start(browser, place, ["work"]);
    const page = await reviewed.open();
    await page.getByRole("heading", { name: "a.txt" }).waitFor();
    const second = await reviewed.context.newPage();
    await second.goto(reviewed.origin);
    await second.getByRole("heading", { name: "a.txt" }).waitFor();
    await page.keyboard.press("a");
    await page.keyboard.press("j");
    await page.keyboard.press("x");
    for (const window of [page, second]) {
      await window.getByRole("treeitem", { name: /a\.txt.*approved/ }).waitFor();
      await window.getByRole("treeitem", { name: /b\.txt.*rejected/ }).waitFor();
    }
    await page.keyboard.press("k");
    await page.getByRole("heading", { name: "a.txt" }).waitFor();
    await page.locator(".diff tr[data-line]").first().waitFor();
    await page.keyboard.press("d");
    for (const key of ["ArrowDown", "ArrowDown", "c"]) await page.keyboard.press(key);
    await page.getByRole("dialog", { name: "Comment on line 2" }).waitFor();
    await page.keyboard.type("Why in capitals?");
    await page.keyboard.press("Control+Enter");
    for (const window of [page, second])
      await window.locator(".diff").getByText("Why in capitals?").waitFor();
    await page.getByRole("treeitem", { name: /dot\.png/ }).click();
    await page.getByRole("img", { name: "after the change" }).waitFor();
    await page.reload();
    await page.getByRole("treeitem", { name: /a\.txt.*approved/ }).waitFor();
    await page.locator(".diff").getByText("Why in capitals?").waitFor();
    assert.deepEqual(reviewed.complaints, []);
    reviewed.running.signal("SIGKILL");
    await reviewed.ended;
    await page.locator(".offline").getByText("The server does not answer").waitFor();
    await using again = await Reviewed.start(browser, place, ["work"]);
    const anew = await again.open();
    const beside = await again.context.newPage();
    await beside.goto(again.origin);
    for (const window of [anew, beside]) {
      await window.getByRole("treeitem", { name: /a\.txt.*approved/ }).waitFor();
      await window.getByRole("treeitem", { name: /b\.txt.*rejected/ }).waitFor();
      await window.locator(".diff").getByText("Why in capitals?").waitFor();
    }
    await using agent = await McpClient.start(place);
    const heard = async () => await agent.done("plan_request_review", { plan: "work" });
    const [{ path, line, text }] = (await heard()).comments;
    assert.deepEqual([path, line, text], ["a.txt", 2, "Why in capitals?"]);
    writeFileSync(join(at, "a.txt"), "one\nThree\n");
    place.done("plan", "diff", "work");
    await anew.getByText("The changes have moved").waitFor();
    assert.equal(
      await anew.getByRole("treeitem", { name: /a\.txt.*approved/ }).count(),
      0,
      "its word is void",
    );
    await anew.getByText("Why in capitals?").waitFor();
    await anew.keyboard.press("a");
    await anew.getByRole("treeitem", { name: /a\.txt.*approved/ }).waitFor();
    await anew.keyboard.press("L");
    await anew.getByRole("dialog").getByRole("button", { name: "Land it" }).click();
    await anew.getByText("It has landed.").waitFor();
    assert.deepEqual(place.tree("shop"), { "a.txt": "one\nThree\n", "b.txt": "b\n" });
    await anew.getByRole("treeitem", { name: /b\.txt.*rejected/ }).waitFor();
    assert.deepEqual(again.complaints, []);
    await anew.keyboard.press("R");
    await anew.getByRole("textbox").fill("See the comments.");
    await anew.keyboard.press("Control+Enter");
    const { stdout, status } = await again.ended;
    assert.equal(status, 1);
    assert.equal(stdout, "Changes asked for work:\nSee the comments.\nshop/a.txt:2: Why in capitals?\n");
    assert.equal((await heard()).changesAsked.message, "See the comments.");
    const { entries } = place.answer("plan", "log", "work");
    const said = entries.filter(({ details }: { details: { via?: string } }) => details.via === "page");
    assert.deepEqual(
      said.map(({ event }: { event: string }) => event).filter((event: string) => event !== "looked"),
      ["voted", "voted", "commented", "voted", "changes asked"],
    );
  });

  it("[V4] takes a word on each hunk, by keys and by mouse, keeps it, and lands exactly the approved hunks", async () => {
    using place = new Workplace();
    const lines = (changed: { readonly [line: number]: string }) =>
      Array.from({ length: 60 }, (_, at) => `${changed[at + 1] ?? `line ${at + 1}`}\n`).join("");
    const at = planOver(place, { "a.txt": lines({}) });
    writeFileSync(join(at, "a.txt"), lines({ 5: "five", 30: "thirty", 55: "fifty-five" }));
    await using reviewed = await Reviewed.start(browser, place, ["work"]);
    const page = await reviewed.open();
    await page.getByText("0 of 3 hunks approved").waitFor();
    await page.keyboard.press("h");
    await page.getByText("1 of 3 hunks approved").waitFor();
    await page.keyboard.press("n");
    await page.keyboard.press("H");
    await page.getByText("1 of 3 hunks approved, 1 rejected").waitFor();
    await page.getByRole("button", { name: "Approve hunk 3" }).click();
    await page.getByText("2 of 3 hunks approved, 1 rejected").waitFor();
    await page.getByRole("treeitem", { name: /a\.txt.*partly/ }).waitFor();
    await page.reload();
    await page.getByText("2 of 3 hunks approved, 1 rejected").waitFor();
    const pressed = page.getByRole("button", { pressed: true, name: /hunk/ });
    assert.deepEqual(
      await pressed.evaluateAll((buttons) => buttons.map((each) => each.getAttribute("aria-label"))),
      ["Approve hunk 1", "Reject hunk 2", "Approve hunk 3"],
    );
    await page.keyboard.press("a");
    await page.getByText("3 of 3 hunks approved").waitFor();
    await page.getByRole("button", { name: "Approve hunk 2" }).click();
    await page.getByText("2 of 3 hunks approved").waitFor();
    await page.keyboard.press("L");
    await page.getByRole("dialog").getByRole("button", { name: "Land it" }).click();
    await page.getByText("It has landed.").waitFor();
    assert.equal(place.read("shop/a.txt"), lines({ 5: "five", 55: "fifty-five" }));
    assert.match(place.done("plan", "diff", "work", "--patch"), /-line 30\n\+thirty\n/);
    await page.getByText("The changes have moved").waitFor();
    await page.keyboard.press("x");
    await page.getByRole("button", { name: "Take rejected out" }).waitFor();
    await page.keyboard.press("X");
    await page.getByRole("dialog").getByText("1 rejected change.").waitFor();
    await page.getByRole("dialog").getByRole("button", { name: "Take it out" }).click();
    await page.getByText("1 change taken out of the plan.").waitFor();
    await page.getByText("The plan changes nothing.").waitFor();
    assert.deepEqual(place.answer("plan", "diff", "work").changes, []);
    assert.deepEqual(reviewed.complaints, []);
  });

  it("[V9] lists what stands against a landing, and leads out of it: merges, settles by a word, takes that back", async () => {
    using place = new Workplace();
    const text = (changed: { readonly [line: number]: string }) =>
      Array.from({ length: 12 }, (_, at) => `${changed[at + 1] ?? `line ${at + 1}`}\n`).join("");
    const at = planOver(place, { apart: text({}), touching: text({}) });
    for (const name of ["apart", "touching"]) writeFileSync(join(at, name), text({ 2: "ours" }));
    place.done("plan", "diff", "work");
    place.write("shop/apart", text({ 10: "theirs" }));
    place.write("shop/touching", text({ 2: "theirs" }));
    await using reviewed = await Reviewed.start(browser, place, ["work"]);
    const page = await reviewed.open();
    const land = async () => {
      await page.keyboard.press("L");
      await page.getByRole("dialog").getByRole("button", { name: "Land it" }).click();
    };
    await page.getByRole("treeitem", { name: /touching/ }).waitFor();
    await land();
    const conflicts = page.getByRole("region", { name: "Conflicts" });
    await conflicts.getByText("2 paths changed in the original too, so nothing landed").waitFor();
    assert.deepEqual(await violations(page), []);
    await page.getByRole("button", { name: "Merge what others changed" }).click();
    await conflicts.getByText("merged: the plan has both changes").waitFor();
    await conflicts.getByText("both sides changed the same lines").waitFor();
    await page.getByRole("button", { name: "Keep both of touching" }).click();
    await conflicts.getByText("the plan's version is touching~work").waitFor();
    await page.getByRole("button", { name: "Take the last step back" }).click();
    await page.getByText("The sandboxes are as they were before.").waitFor();
    await land();
    await conflicts.getByText("1 path changed in the original too").waitFor();
    await page.getByRole("button", { name: "Keep the plan's of touching" }).click();
    await conflicts.getByText("Every conflict is settled").waitFor();
    await land();
    await page.getByText("It has landed.").waitFor();
    assert.deepEqual(place.tree("shop"), {
      apart: text({ 2: "ours", 10: "theirs" }),
      touching: text({ 2: "ours" }),
    });
    assert.deepEqual(reviewed.complaints, []);
  });

  it("shows what checks and commands wrote in the activity of the plan, as text, and says where it did not see it", async () => {
    using place = new Workplace();
    writeFileSync(join(planOver(place, { "a.txt": "one\n" }), "a.txt"), "two\n");
    place.done("plan", "exec", "work", "--", "true");
    place.done("plan", "exec", "work", "--json", "--", "echo", "<b>from the command</b>");
    place.drydock(["plan", "apply", "work", "--check", "echo hello-output; false"]);
    await using reviewed = await Reviewed.start(browser, place, ["work"]);
    const page = await reviewed.open();
    await page.getByRole("treeitem", { name: /a\.txt/ }).waitFor();
    await page.keyboard.press("2");
    await page.getByRole("group", { name: "Output" }).getByText("hello-output", { exact: true }).waitFor();
    const commands = page.getByRole("listitem").filter({ hasText: "executed" });
    await commands.getByText("its output went to its caller").waitFor();
    await commands.getByText("Output", { exact: true }).press("Enter");
    await commands.getByText("<b>from the command</b>", { exact: true }).waitFor();
    assert.deepEqual(await violations(page), []);
    assert.deepEqual(reviewed.complaints, []);
  });

  it("[V1][V4] looks into a checkpoint and at what changed since, and takes a word on a folder with all below it, and on a resource", async () => {
    using place = new Workplace();
    const files = { "a.txt": "one\n", "b.txt": "b\n", "src/c.txt": "c\n", "src/deep/d.txt": "d\n" };
    const at = planOver(place, files);
    writeFileSync(join(at, "a.txt"), "two\n");
    place.done("plan", "checkpoint", "work", "--label", "then");
    writeFileSync(join(at, "a.txt"), "three\n");
    await using reviewed = await Reviewed.start(browser, place, ["work"]);
    const page = await reviewed.open();
    await page.getByRole("treeitem", { name: /a\.txt/ }).waitFor();
    for (const key of ["l", "Home", "c"]) await page.keyboard.press(key);
    await page.getByText("Choose a change").waitFor();
    await page.keyboard.press("3");
    const held = page.getByRole("listitem").filter({ hasText: "then" });
    await held.getByText("What it holds").press("Enter");
    const then = held.getByRole("list", { name: "Changes as of then" });
    await then.locator("summary").press("Enter");
    await then.getByText("+two", { exact: true }).waitFor();
    const since = held.getByRole("list", { name: "Changed since then" });
    await since.getByText("not the same now").waitFor();
    assert.deepEqual(await since.getByRole("listitem").allTextContents(), ["not the same now shop/a.txt"]);
    for (const path of ["b.txt", "src/c.txt", "src/deep/d.txt"]) writeFileSync(join(at, path), "more\n");
    place.done("plan", "diff", "work");
    await since.getByText("only now").first().waitFor();
    assert.equal(await then.getByRole("listitem").count(), 1, "what it holds stays the same");
    assert.deepEqual(await violations(page), []);
    await page.keyboard.press("1");
    await page.getByRole("treeitem", { name: /^▾?\s*shop\/src\s*1$/ }).click();
    await page.getByRole("button", { name: "Approve the folder with all below it (2)" }).click();
    await page.getByRole("treeitem", { name: /d\.txt.*approved/ }).waitFor();
    assert.equal(await page.getByRole("treeitem", { name: /[ab]\.txt.*approved/ }).count(), 0);
    await page.getByRole("button", { name: "Reject the whole resource (4)" }).click();
    for (const name of "abcd")
      await page.getByRole("treeitem", { name: new RegExp(`${name}\\.txt.*rejected`) }).waitFor();
    assert.deepEqual(reviewed.complaints, []);
  });
});
