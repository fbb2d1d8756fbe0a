import { UsageError } from "../../core/errors/errors.ts";
import { displayPath, ROOT_PATH } from "../../core/paths/byte-path.ts";
import type { Entry } from "../../core/resource/entry.ts";

/** As many as the kernel follows. */
const MOST_LINKS = 40;

/**
 * The path with the links on it followed, as long as these lead to a path inside the resource; for reading
 * only. `stat` looks at one path and follows no link.
 */
export async function followedInside(
  path: string,
  stat: (path: string) => Promise<Pick<Entry, "target"> | undefined>,
): Promise<string> {
  const waiting = namesOf(path);
  const found: string[] = [];
  let links = 0;
  for (let name = waiting.shift(); name !== undefined; name = waiting.shift()) {
    if (name === "..") {
      if (found.pop() === undefined) throw leadsOut(path);
      continue;
    }
    const target = (await stat([...found, name].join("/")))?.target;
    if (target === undefined) {
      found.push(name);
      continue;
    }
    links += 1;
    if (target.startsWith("/") || links > MOST_LINKS) throw leadsOut(path);
    waiting.unshift(...namesOf(target));
  }
  return found.join("/") || ROOT_PATH;
}

function namesOf(path: string): string[] {
  return path.split("/").filter((name) => name !== "" && name !== ".");
}

function leadsOut(path: string): UsageError {
  return new UsageError(`${displayPath(path)} leads out of the resource by a link, or in a circle.`, {
    hint: "Links are followed only within a resource, and only to read.",
    code: "BAD_PATH",
  });
}
