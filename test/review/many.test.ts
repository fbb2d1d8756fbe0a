import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { Workplace } from "../end-to-end/workplace.ts";
import { NO_BROWSER, Reviewed, startBrowser } from "./browser.ts";

describe("a large plan on the page of a review", { skip: NO_BROWSER }, () => {
  it("[V7] shows 50,000 changes with a bounded document, to the last one", async () => {
    await using browser = await startBrowser();
    using place = new Workplace();
    place.done("plan", "create", "-r", place.folder("shop", { "a.txt": "one\n" }), "--name", "work");
    const at = place.done("plan", "path", "work").trim();
    place.shell(`mkdir ${at}/many && cd ${at}/many && seq -f f%05g 1 49999 | xargs touch`, {
      patienceMs: 300_000,
    });
    await using reviewed = await Reviewed.start(browser, place, ["work"]);
    const page = await reviewed.open();
    page.setDefaultTimeout(300_000);
    await page.getByText("50,000 changes", { exact: true }).waitFor();
    const nodes = async () => Number(await page.evaluate("document.querySelectorAll('*').length"));
    assert.ok((await nodes()) < 1500, `${await nodes()} nodes`);
    await page.getByRole("tree").press("End");
    await page.getByRole("heading", { name: "many/f49999" }).waitFor();
    await page.getByRole("treeitem", { name: /f49999/ }).waitFor();
    assert.ok((await nodes()) < 1500, `${await nodes()} nodes`);
    await page.getByRole("searchbox").fill("f31415");
    await page.getByText("1 of 50,000 changes").waitFor();
    assert.deepEqual(reviewed.complaints, []);
  });
});
