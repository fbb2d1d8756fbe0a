import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { programAmong } from "../../system/process/programs.ts";
import { startProcess } from "../../system/process/start-process.ts";
import { PrivatePage } from "../../system/state/private-page.ts";
import type { CommandContext } from "../command-context.ts";

/**
 * Opens a secret address in the user's browser: BROWSER, or what the desktop has. The browser gets it through
 * a private page, which is there until the result is disposed of. Undefined if there is no browser.
 */
export function openInBrowser(
  { environment }: Pick<CommandContext, "environment">,
  stateDir: string,
  address: string,
): Disposable | undefined {
  const program = browserIn(environment);
  if (program === undefined) return undefined;
  const page = new PrivatePage(join(stateDir, "serve"), pageTo(address));
  const set = Object.entries(environment).flatMap(([name, value]) =>
    value === undefined ? [] : [[name, value] as const],
  );
  const browser = startProcess(
    {
      file: "/bin/sh",
      args: ["-c", `${program} "$1"`, "sh", pathToFileURL(page.path).href],
      environment: Object.fromEntries(set),
    },
    ["ignore", "ignore", "ignore"],
  );
  browser.unref();
  return page;
}

function browserIn({ BROWSER = "", DISPLAY, WAYLAND_DISPLAY, PATH = "" }: CommandContext["environment"]) {
  const [first = ""] = BROWSER.split(":");
  if (first.trim() !== "") return first.includes("%s") ? first.replaceAll("%s", "").trim() : first;
  if (DISPLAY === undefined && WAYLAND_DISPLAY === undefined) return undefined;
  return programAmong(PATH.split(":"), "xdg-open");
}

function pageTo(address: string): string {
  return `<!doctype html><meta charset="utf-8"><title>Drydock</title><meta http-equiv="refresh" content="0; url=${address}">\n`;
}
