import { joinPath, ROOT_PATH } from "../../core/paths/byte-path.ts";
import { PathPatterns } from "../../core/paths/path-patterns.ts";
import type { Entry } from "../../core/resource/entry.ts";
import type { UsableSandbox } from "../../sandboxes/plan-sandboxes.ts";
import type { EntryList, ListOptions } from "./entry-views.ts";

const PAGE = 1000;

/** A page of the entries in a folder, after the cursor. The cursor is the path of the last entry before. */
export async function listPage(
  sandbox: UsableSandbox,
  folder: string,
  { recursive = false, match, prefix = "", cursor, limit = PAGE }: ListOptions,
): Promise<EntryList> {
  const patterns = match === undefined ? undefined : new PathPatterns([match]);
  const isWanted = ({ path }: Entry) => path.startsWith(prefix) && patterns?.has(path) !== false;
  const entries: Entry[] = [];
  for await (const entry of walk({ sandbox, recursive }, folder, stepsAfter(folder, cursor))) {
    if (!isWanted(entry)) continue;
    // There is a next page only if there is an entry for it.
    if (entries.length === limit) return { entries, next: entries.at(-1)?.path ?? "" };
    entries.push(entry);
  }
  return { entries };
}

interface Walk {
  readonly sandbox: UsableSandbox;
  readonly recursive: boolean;
}

/** The entries below a folder, depth first; `after`: the names that lead to the last entry of before. */
async function* walk(within: Walk, folder: string, after: readonly string[]): AsyncGenerator<Entry> {
  const { sandbox, recursive } = within;
  const { record, strategy, pathOf, pathFrom } = sandbox;
  const [last, ...rest] = after;
  if (last !== undefined && recursive && (await isFolder(sandbox, joinPath(folder, last))))
    yield* walk(within, joinPath(folder, last), rest);
  for (let name = last; ; ) {
    const page = { limit: PAGE, ...(name !== undefined && { after: name }) };
    const found = await strategy.list(record.ref, pathOf(folder), page);
    for (const entry of found) {
      const path = pathFrom(entry.path);
      yield { ...entry, path };
      if (recursive && entry.kind === "directory") yield* walk(within, path, []);
    }
    const lastFound = found.at(-1);
    if (lastFound === undefined || found.length < PAGE) return;
    name = lastFound.path.slice(lastFound.path.lastIndexOf("/") + 1);
  }
}

/** The folder of the cursor may be gone by now; then the listing goes on after it. */
async function isFolder({ record, strategy, pathOf }: UsableSandbox, path: string): Promise<boolean> {
  return (await strategy.stat(record.ref, pathOf(path)))?.kind === "directory";
}

function stepsAfter(folder: string, cursor: string | undefined): readonly string[] {
  if (cursor === undefined) return [];
  const below = folder === ROOT_PATH ? cursor : cursor.slice(folder.length + 1);
  return below.split("/");
}
