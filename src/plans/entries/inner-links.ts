import { UsageError } from "../../core/errors/errors.ts";
import { displayPath, ROOT_PATH } from "../../core/paths/byte-path.ts";
import type { Entry } from "../../core/resource/entry.ts";
import { assertResourcePath } from "../../core/resource/resource.ts";

/** As many as the kernel follows. */
const MOST_LINKS = 40;

/** The failures to read a file where there may be a link on the way. */
const LINK_CODES: readonly string[] = ["BAD_PATH", "NO_SUCH_FILE"];

/** Looks at paths of a resource, and follows no link. */
interface InResource {
  read(path: string): Promise<Uint8Array>;
  stat(path: string): Promise<Pick<Entry, "target"> | undefined>;
}

/** The content of a file. Follows links on the way that lead to a path inside the resource. */
export async function readInside(path: string, resource: InResource): Promise<Uint8Array> {
  assertResourcePath(path);
  try {
    return await resource.read(path);
  } catch (thrown) {
    if (!(thrown instanceof UsageError) || !LINK_CODES.includes(thrown.code)) throw thrown;
    const real = await followedInside(path, (at) => entryAt(resource, at));
    if (real === path) throw thrown;
    return await resource.read(real);
  }
}

/** A strategy that can't look at single entries has no links. */
async function entryAt(resource: InResource, path: string): ReturnType<InResource["stat"]> {
  try {
    return await resource.stat(path);
  } catch (thrown) {
    if (thrown instanceof UsageError && thrown.code === "NO_ENTRIES") return undefined;
    throw thrown;
  }
}

/** The path with the links on it followed. */
export async function followedInside(path: string, stat: InResource["stat"]): Promise<string> {
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
