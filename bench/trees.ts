import { closeSync, mkdirSync, openSync, writeFileSync } from "node:fs";
import { join } from "node:path";

/**
 * Makes `count` files, `perFolder` in each folder, or only the folders where there is no content; returns
 * their paths relative to `root`. The same for each call.
 */
export function makeTree(
  root: string,
  count: number,
  perFolder: number,
  contentOf: (at: number) => Buffer | undefined,
): readonly string[] {
  const paths: string[] = [];
  mkdirSync(root, { recursive: true });
  for (let at = 0; at < count; at += 1) {
    const folder = `folder-${Math.floor(at / perFolder)}`;
    if (at % perFolder === 0) mkdirSync(join(root, folder));
    const path = `${folder}/file-${at}.txt`;
    const content = contentOf(at);
    if (content?.length === 0) closeSync(openSync(join(root, path), "wx"));
    else if (content !== undefined) writeFileSync(join(root, path), content);
    paths.push(path);
  }
  return paths;
}

/** Lines of text, about `size` bytes, different for each `seed`. */
export function text(seed: number, size: number): Buffer {
  const line = `line of file ${seed}, which says nothing in particular\n`;
  return Buffer.from(line.repeat(Math.ceil(size / line.length)));
}

/** Sizes as in a folder of source code: a few empty, most of some KiB, none large. */
export function sourceLike(at: number): Buffer {
  return at % 20 === 0 ? Buffer.alloc(0) : text(at, 256 + ((at * 7919) % 8000));
}
