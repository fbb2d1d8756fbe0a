import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { Workplace } from "../test/end-to-end/workplace.ts";
import { Reviewed, startBrowser } from "../test/review/browser.ts";
import { makeShowcase } from "../test/review/showcase.ts";

/**
 * `npm run screenshots [FOLDER]` keeps pictures of the page of reviews, light and dark, wide and narrow, made
 * from a real plan in a real browser.
 */
const folder = process.argv[2] ?? join(import.meta.dirname, "../dist/screenshots");

const LOOKS = [
  { name: "light", colorScheme: "light", viewport: { width: 1280, height: 800 } },
  { name: "dark", colorScheme: "dark", viewport: { width: 1280, height: 800 } },
  { name: "phone", colorScheme: "light", viewport: { width: 390, height: 780 } },
] as const;

mkdirSync(folder, { recursive: true });
await using browser = await startBrowser();
using place = new Workplace();
const { plan, select } = makeShowcase(place);
for (const { name, ...look } of LOOKS) {
  await using reviewed = await Reviewed.start(browser, place, [plan], look);
  const page = await reviewed.open();
  for (const [view, act] of Object.entries(select)) {
    await act(page);
    await page.waitForTimeout(400);
    await page.screenshot({ path: join(folder, `${view}-${name}.png`) });
  }
  for (const complaint of reviewed.complaints) console.warn(complaint);
}
