import { existsSync } from "node:fs";
import { type Browser, type BrowserContext, chromium, type Page } from "playwright-core";
import type { Running, Workplace } from "../end-to-end/workplace.ts";

const PROGRAM = "/usr/bin/chromium";

/** Why there is no browser to test with. */
export const NO_BROWSER = existsSync(PROGRAM) ? false : "needs Debian's chromium";

/** A real browser, without a screen. */
export async function startBrowser(): Promise<Browser> {
  // As root, and in containers, the browser's own sandbox can't be made.
  return await chromium.launch({ executablePath: PROGRAM, args: ["--no-sandbox"] });
}

/** A review that runs, as a user starts it, and a browser that looks at it. */
export class Reviewed implements AsyncDisposable {
  readonly running: Running;
  /** How the command ended. */
  readonly ended: ReturnType<Running["ended"]>;
  readonly url: string;
  readonly context: BrowserContext;
  /** What the pages complained of: errors, and what their policy refused. */
  readonly complaints: string[] = [];

  private constructor(running: Running, context: BrowserContext) {
    this.running = running;
    this.ended = running.ended();
    this.url = addressIn(running) ?? "";
    this.context = context;
    context.on("page", (page) => this.#watch(page));
  }

  static async start(
    browser: Browser,
    place: Workplace,
    args: readonly string[] = [],
    options: Parameters<Browser["newContext"]>[0] = {},
  ): Promise<Reviewed> {
    const running = place.start(["review", "--no-open", ...args]);
    await running.until(() => addressIn(running) !== undefined);
    return new Reviewed(running, await browser.newContext(options));
  }

  get origin(): string {
    return new URL(this.url).origin;
  }

  /** Opens the page as its address says. */
  async open(): Promise<Page> {
    const page = await this.context.newPage();
    await page.goto(this.url);
    await page.locator("main").waitFor();
    return page;
  }

  #watch(page: Page): void {
    page.on("pageerror", (error) => this.complaints.push(error.message));
    page.on("console", (message) => {
      if (message.type() === "error") this.complaints.push(message.text());
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.context.close();
    if (!this.running.hasEnded) this.running.signal("SIGTERM");
    await this.ended;
  }
}

function addressIn({ stderr }: Running): string | undefined {
  return /http:\/\/127\.0\.0\.1:\d+\/#token=[\w-]+/.exec(stderr)?.[0];
}
