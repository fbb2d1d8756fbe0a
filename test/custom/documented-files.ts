import { mkdirSync, mkdtempSync, readFileSync, realpathSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { removeFolder } from "../support/remove-folder.ts";

const root = join(import.meta.dirname, "../..");
const PAGE = join(root, "docs/writing-a-strategy.md");

/** A piece of the page, in the order in which they stand there. */
export type Piece =
  | { readonly kind: "file"; readonly name: string; readonly text: string }
  | { readonly kind: "script"; readonly text: string; readonly output: string };

/**
 * The files of docs/writing-a-strategy.md, by the name in their first line, and its scripts with what they
 * print.
 */
export function piecesOfPage(): readonly Piece[] {
  const blocks = [...readFileSync(PAGE, "utf8").matchAll(/^```(\w+)\n(.*?)^```$/gms)];
  return blocks.flatMap(([, language, text = ""], at): readonly Piece[] => {
    if (language === "sh") {
      const [, next, output = ""] = blocks[at + 1] ?? [];
      return [{ kind: "script", text, output: next === "text" ? output : "" }];
    }
    const name = /^(?:\/\/|#) (\S+)\n/.exec(text)?.[1];
    return name === undefined ? [] : [{ kind: "file", name, text }];
  });
}

/**
 * A folder of somebody who writes a strategy: the package is installed, and the files of the page are there.
 */
export class AuthorFolder {
  readonly path = realpathSync(mkdtempSync(join(tmpdir(), "drydock-custom-")));

  constructor() {
    mkdirSync(join(this.path, "node_modules"));
    symlinkSync(root, join(this.path, "node_modules/drydock-sandbox"));
    symlinkSync(join(root, "node_modules/@types"), join(this.path, "node_modules/@types"));
    for (const piece of piecesOfPage()) if (piece.kind === "file") this.write(piece.name, piece.text);
    this.write("package.json", JSON.stringify({ type: "module" }));
  }

  at(name: string): string {
    return join(this.path, name);
  }

  write(name: string, text: string): string {
    mkdirSync(join(this.at(name), ".."), { recursive: true });
    writeFileSync(this.at(name), text);
    return this.at(name);
  }

  text(name: string): string {
    return readFileSync(this.at(name), "utf8");
  }

  [Symbol.dispose](): void {
    removeFolder(this.path);
  }
}
