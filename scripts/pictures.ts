import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Browser, Page } from "playwright-core";
import { Workplace } from "../test/end-to-end/workplace.ts";
import { Reviewed, startBrowser } from "../test/review/browser.ts";
import { makeShowcase } from "../test/review/showcase.ts";

/**
 * `npm run pictures` makes the pictures of the README and the documents, from real plans, the real page in a
 * real browser, and what real commands print; `-- --movie` makes only the animated one. It needs Debian's
 * chromium and ffmpeg, and installs ffmpeg where it may.
 */
const folder = join(import.meta.dirname, "../docs/pictures");
const viewport = { width: 1200, height: 720 };
const LARGEST_MOVIE = 1.5 * 1024 * 1024;
const frames = mkdtempSync(join(tmpdir(), "drydock-pictures-"));

function installFfmpeg(): void {
  if (spawnSync("ffmpeg", ["-version"]).status === 0) return;
  run("apt-get", ["install", "-y", "--no-install-recommends", "ffmpeg"]);
}

function run(program: string, args: readonly string[]): void {
  const { status, error, stderr } = spawnSync(program, args, { encoding: "utf8" });
  if (status !== 0) throw new Error(`${program} failed: ${error?.message ?? stderr}`);
}

/** The page, light and dark. Few colours make small files. */
async function takePictures(browser: Browser): Promise<void> {
  using place = new Workplace();
  const { plan, select } = makeShowcase(place);
  for (const colorScheme of ["light", "dark"] as const) {
    await using reviewed = await Reviewed.start(browser, place, [plan], { colorScheme, viewport });
    const page = await reviewed.open();
    for (const view of ["plan", "rows"] as const) {
      await select[view](page);
      await page.waitForTimeout(400);
      const shot = join(frames, `${view}-${colorScheme}.png`);
      await page.screenshot({ path: shot });
      const palette =
        "split[a][b];[a]palettegen=max_colors=64:reserve_transparent=0[p];[b][p]paletteuse=dither=none";
      const options = ["-frames:v", "1", "-update", "1", "-compression_level", "9"];
      run("ffmpeg", [
        "-y",
        "-i",
        shot,
        "-vf",
        palette,
        ...options,
        join(folder, `${view}-${colorScheme}.png`),
      ]);
    }
  }
}

/** The whole way: a command, its review, the approval, the landing, and the way back. */
async function makeMovie(browser: Browser): Promise<void> {
  using place = new Workplace();
  place.folder("shop", {
    "prices.ts": "export const TAX = 0.19;\nexport const TEA = 320;\nexport const COFFEE = 450;\n",
    "README.md": "# Shop\n",
  });
  const movie = new Movie(await browser.newPage({ viewport, colorScheme: "dark" }));
  const sed = "sed -i 's/0.19/0.16/; s/450/439/' prices.ts; echo 'Sells tea.' >> README.md";
  await movie.command(`drydock run --keep --name lower-tax -C shop -- sh -c "${sed}"`, () => {
    const args = ["run", "--keep", "--name", "lower-tax", "-C", "shop", "--", "sh", "-c", sed];
    const { status, stdout, stderr } = place.drydock(args);
    if (status !== 0) throw new Error(stderr);
    return stdout + stderr;
  });
  await movie.command("cat shop/prices.ts", () => place.read("shop/prices.ts"));
  {
    await using reviewed = await Reviewed.start(browser, place, ["lower-tax"], {
      viewport,
      colorScheme: "dark",
    });
    await movie.command("drydock review lower-tax", () =>
      reviewed.running.stderr.replace(/#token=[\w-]+/g, "#token=…"),
    );
    const page = await reviewed.open();
    await page.locator(".diff tr[data-line]").first().waitFor();
    await movie.shot(page, 2);
    await page.getByRole("treeitem", { name: /prices\.ts/ }).click();
    await page.locator(".diff .t-keyword").first().waitFor();
    await movie.shot(page, 3);
    await page.keyboard.press("A");
    await page.getByRole("dialog").waitFor();
    await movie.shot(page, 2.5);
    await page.getByRole("dialog").getByRole("button", { name: "Approve" }).click();
    const { stdout } = await reviewed.ended;
    await movie.print(stdout);
  }
  for (const args of [
    ["apply", "lower-tax", "--approved"],
    ["undo", "lower-tax", "-y"],
  ] as const) {
    await movie.command(`drydock ${args.join(" ")}`, () => place.done(...args));
    await movie.command("cat shop/prices.ts", () => place.read("shop/prices.ts"));
  }
  movie.write(join(folder, "whole-way.webp"));
}

/** Frames, each with its time, of which some show a terminal: commands and what they printed. */
class Movie {
  readonly #terminal: Page;
  readonly #list: string[] = [];
  #text = "";

  constructor(terminal: Page) {
    this.#terminal = terminal;
  }

  /** Types a command, runs it, and prints its answer. */
  async command(typed: string, answer: () => string): Promise<void> {
    this.#text += `$ ${typed}`;
    await this.#frame(1.2);
    await this.print(`\n${answer()}`);
  }

  async print(text: string): Promise<void> {
    this.#text += `${text.trimEnd()}\n`;
    await this.#frame(2.2);
  }

  async shot(page: Page, seconds: number): Promise<void> {
    await page.waitForTimeout(400);
    const file = join(frames, `frame-${this.#list.length}.png`);
    await page.screenshot({ path: file });
    this.#list.push(`file '${file}'\nduration ${seconds}\n`);
  }

  async #frame(seconds: number): Promise<void> {
    // What does not fit has scrolled away.
    const lines = this.#text.split("\n").slice(-30).join("\n");
    const shown = lines.replaceAll("&", "&amp;").replaceAll("<", "&lt;");
    const style = "margin:0;height:100vh;background:#16191c;color:#dde1e5";
    const pre = "margin:0;padding:24px;font:17px/1.35 'DejaVu Sans Mono',monospace;white-space:pre-wrap";
    await this.#terminal.setContent(`<body style="${style}"><pre style="${pre}">${shown}</pre>`);
    await this.shot(this.#terminal, seconds);
  }

  write(file: string): void {
    const list = join(frames, "list");
    // The last frame has its time only if it is named once more.
    writeFileSync(list, [...this.#list, this.#list.at(-1)?.split("\n")[0] ?? ""].join(""));
    const webp = ["-c:v", "libwebp_anim", "-lossless", "0", "-quality", "60", "-compression_level", "6"];
    const size = ["-vf", "fps=5,scale=900:-1:flags=lanczos", "-loop", "0"];
    run("ffmpeg", ["-y", "-f", "concat", "-safe", "0", "-i", list, ...size, ...webp, file]);
    const bytes = statSync(file).size;
    if (bytes > LARGEST_MOVIE) throw new Error(`${file} has ${bytes} bytes, more than ${LARGEST_MOVIE}`);
  }
}

mkdirSync(folder, { recursive: true });
installFfmpeg();
try {
  await using browser = await startBrowser();
  if (!process.argv.includes("--movie")) await takePictures(browser);
  await makeMovie(browser);
} finally {
  rmSync(frames, { recursive: true });
}
