import { copyFileSync, existsSync, globSync, readFileSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { build } from "esbuild";

/** Files that go as they are. */
const PLAIN = ["index.html", "icon.svg"];

/**
 * Builds the page of reviews into a folder: one script, the pieces that it loads when it needs them (the
 * grammars of languages), one style sheet, and the licences of what is in there. The page is bundled, so its
 * packages are needed here and by no user.
 */
export async function buildPage(root: string, outdir: string): Promise<void> {
  const { metafile } = await build({
    absWorkingDir: root,
    outdir,
    entryPoints: { main: "page/main.tsx", style: "page/style/main.css" },
    bundle: true,
    splitting: true,
    minify: true,
    format: "esm",
    target: "es2024",
    jsx: "automatic",
    jsxImportSource: "preact",
    chunkNames: "[name]-[hash]",
    legalComments: "none",
    metafile: true,
    logLevel: "warning",
  });
  for (const name of PLAIN) copyFileSync(join(root, "page", name), join(outdir, name));
  writeFileSync(join(outdir, "licences.txt"), licences(root, Object.keys(metafile.inputs)));
}

/** The licences of all packages among these files. */
function licences(root: string, files: readonly string[]): string {
  const folders = files.map((file) => /^(.*node_modules\/(?:@[^/]+\/)?[^/]+)\//.exec(file)?.[1]);
  const packages = [...new Set(folders)].filter((folder) => folder !== undefined).sort();
  return packages.map((folder) => `${textOf(join(root, folder))}\n`).join("\n");
}

function textOf(folder: string): string {
  const { name, version, license } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
  const [file] = globSync("{LICENSE,LICENCE,license}*", { cwd: folder });
  const text =
    file !== undefined && existsSync(join(folder, file)) ? readFileSync(join(folder, file), "utf8") : "";
  return `${name ?? basename(folder)} ${version} (${license})\n\n${text.trim()}\n`;
}
