import { fileURLToPath } from "node:url";
import { isThere, namesIn } from "../../system/data/existence.ts";
import { readTextFile } from "../../system/data/text-files.ts";

/** The built page, from this file: beside the source, and in dist/. */
const FOLDERS = ["../../../dist/page/", "../page/"];
/** No file of the page is larger. */
const MOST_BYTES = 16 * 1024 * 1024;

const TYPES: { readonly [ending: string]: string } = {
  html: "text/html; charset=utf-8",
  js: "text/javascript; charset=utf-8",
  css: "text/css; charset=utf-8",
  svg: "image/svg+xml",
  txt: "text/plain; charset=utf-8",
};

export interface PageFile {
  readonly type: string;
  readonly bytes: Uint8Array<ArrayBuffer>;
}

/** The files of the page, by their names. Nothing else can be read through it, whatever a URL says. */
export class PageFiles {
  readonly #folder: string;
  readonly #names: ReadonlySet<string>;

  constructor() {
    const folders = FOLDERS.map((folder) => fileURLToPath(new URL(folder, import.meta.url)));
    const folder = folders.find((each) => isThere(`${each}index.html`));
    if (folder === undefined) throw new Error("The page is missing from this installation.");
    this.#folder = folder;
    this.#names = new Set(namesIn(folder));
  }

  read(name: string): PageFile | undefined {
    const type = TYPES[/\.(\w+)$/.exec(name)?.[1] ?? ""];
    if (type === undefined || !this.#names.has(name)) return undefined;
    const file = readTextFile(`${this.#folder}${name}`, MOST_BYTES);
    return file === undefined ? undefined : { type, bytes: new Uint8Array(file.bytes) };
  }
}
