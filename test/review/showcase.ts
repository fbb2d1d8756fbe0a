import { chmodSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import type { Page } from "playwright-core";
import type { Workplace } from "../end-to-end/workplace.ts";

const BEFORE = `import { readFile } from "node:fs/promises";

/** Prices in cents, by the name of the article. */
export type Prices = ReadonlyMap<string, number>;

const TAX = 0.19;

export async function readPrices(file: string): Promise<Prices> {
  const text = await readFile(file, "utf8");
  const lines = text.split("\\n").filter((line) => line !== "");
  return new Map(lines.map((line) => parse(line)));
}

function parse(line: string): [string, number] {
  const [name = "", price = "0"] = line.split(": ");
  return [name, Number(price)];
}

export function withTax(price: number): number {
  return price + price * TAX;
}

export function total(prices: Prices): number {
  let sum = 0;
  for (const price of prices.values()) sum += price;
  return sum;
}

export function cheapest(prices: Prices): string | undefined {
  const sorted = [...prices].sort(([, a], [, b]) => a - b);
  return sorted[0]?.[0];
}
`;

const AFTER = BEFORE.replace(
  "const TAX = 0.19;",
  "/** Lowered for this half of the year. */\nconst TAX = 0.16;",
)
  .replace("return price + price * TAX;", "return Math.round(price * (1 + TAX));")
  .replace(
    "let sum = 0;\n  for (const price of prices.values()) sum += price;\n  return sum;",
    "return prices.values().reduce((sum, price) => sum + price, 0);",
  );

const ITEMS = `CREATE TABLE items (id INTEGER PRIMARY KEY, name TEXT, price INTEGER, tax REAL);
  INSERT INTO items VALUES (1, 'tea', 320, 0.19), (2, 'coffee', 450, 0.19), (3, 'cocoa', 390, 0.19),
    (4, 'milk', 120, 0.07), (5, 'mate', 410, 0.19), (6, 'chai', 370, 0.19)`;
const NEW_ITEMS = `UPDATE items SET tax = 0.16 WHERE tax = 0.19; UPDATE items SET price = 439 WHERE id = 2;
  DELETE FROM items WHERE id = 5; INSERT INTO items VALUES (7, 'rooibos', 340, 0.16);
  CREATE INDEX items_by_name ON items (name)`;

/** A plan with something of everything, and the ways to look at it. */
export function makeShowcase(place: Workplace) {
  const shop = place.folder("shop", {
    "src/prices.ts": BEFORE,
    "src/old-tax.ts": "export const OLD = 0.19;\n",
    "data/prices.txt": "tea: 320\ncoffee: 450\n",
    "deploy.sh": "#!/bin/sh\nset -e\nnpm run build\n",
    "package-lock.json": '{ "lockfileVersion": 3 }\n',
    "README.md": "# Shop\n\nSells tea.\n",
  });
  const database = new DatabaseSync(join(place.folder("data", {}), "shop.db"));
  database.exec(ITEMS);
  database.close();
  const { id } = place.answer("plan", "create", "-r", shop, "-r", "data/shop.db", "--name", "lower-tax");
  place.done("plan", "sql", "lower-tax", "shop.db", "-c", NEW_ITEMS);
  const at = place.done("plan", "path", "lower-tax", "shop").trim();
  const write = (path: string, text: string) =>
    place.write(join(at, path).slice(place.path.length + 1), text);
  write("src/prices.ts", AFTER);
  write("src/rounding.ts", "export const cents = (value: number) => Math.round(value);\n");
  write("README.md", "# Shop\n\nSells tea and coffee.\n");
  write("package-lock.json", '{ "lockfileVersion": 3, "packages": {} }\n');
  write(".vscode/tasks.json", '{ "tasks": [] }\n');
  chmodSync(join(at, "deploy.sh"), 0o755);
  place.shell(`rm ${join(at, "src/old-tax.ts")}`);
  place.drydock([
    "plan",
    "exec",
    "lower-tax",
    "--",
    "sh",
    "-c",
    `echo later > ${join(place.path, "todo.txt")}`,
  ]);
  place.done("plan", "checkpoint", "lower-tax", "--label", "before the rounding");
  const select = {
    plan: async (page: Page) => {
      await page.getByRole("treeitem", { name: /prices\.ts/ }).click();
      await page.locator(".diff .t-function").first().waitFor();
    },
    comment: async (page: Page) => await ask(page, "c"),
    rows: async (page: Page) => {
      await withoutDialog(page);
      await page.getByRole("treeitem", { name: /shop\.db\/items/ }).click();
      await page.getByRole("cell", { name: "rooibos" }).waitFor();
    },
    keys: async (page: Page) => await ask(page, "?"),
    approve: async (page: Page) => await ask(page, "A"),
    changes: async (page: Page) => await ask(page, "R"),
    land: async (page: Page) => await ask(page, "L"),
    "take out": async (page: Page) => {
      await withoutDialog(page);
      await page.keyboard.press("x");
      await page.getByRole("button", { name: "Take rejected out" }).waitFor();
      await ask(page, "X");
    },
    close: async (page: Page) => {
      await withoutDialog(page);
      await page.keyboard.press("x");
      await page.getByRole("button", { name: "Take rejected out" }).waitFor({ state: "hidden" });
      await ask(page, "q");
    },
    activity: async (page: Page) => {
      await withoutDialog(page);
      await page.keyboard.press("2");
      await page.getByRole("list", { name: "What happened" }).waitFor();
    },
    checkpoints: async (page: Page) => {
      await page.keyboard.press("3");
      await page.getByRole("list", { name: "Checkpoints" }).waitFor();
    },
    "a checkpoint": async (page: Page) => {
      await page.getByText("What it holds").first().click();
      await page.getByRole("list", { name: "Changes as of then" }).waitFor();
      await page.getByText("Nothing changed since then.").waitFor();
    },
    outside: async (page: Page) => {
      await page.keyboard.press("4");
      await page.getByText("1 file was written outside of the plan").waitFor();
    },
    start: async (page: Page) => {
      await withoutDialog(page);
      await page.keyboard.press("g");
      await page.getByRole("heading", { name: "Plans" }).waitFor();
    },
  };
  return { plan: id as string, select };
}

async function withoutDialog(page: Page): Promise<void> {
  await page.keyboard.press("Escape");
  await page.getByRole("dialog").waitFor({ state: "hidden" });
}

/** Opens a dialog by its key. */
async function ask(page: Page, key: string): Promise<void> {
  await withoutDialog(page);
  await page.keyboard.press(key);
  await page.getByRole("dialog").waitFor();
}
