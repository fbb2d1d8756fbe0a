import { readFileSync } from "node:fs";
import { isBuiltin } from "node:module";
import { join, relative } from "node:path";
import { build, type Metafile, type Plugin } from "esbuild";

/**
 * What makes the bundle start fast. Measured on `drydock --version`: 1.6 times a bare start of Node without,
 * 1.2 times with.
 *
 * An import of a built-in module makes Node read every property of it, also those that load further modules
 * when read: `node:process` opens the standard streams, `node:fs` and `node:util` load a dozen others.
 * `process.getBuiltinModule` gives the same object and reads nothing, so the bundle takes only the properties
 * that are used.
 */
export const directBuiltins: Plugin = {
  name: "direct-builtins",
  setup(build) {
    build.onResolve({ filter: /^[a-z0-9_:/]+$/ }, ({ path, kind, importer }) => {
      if (!isBuiltin(path)) return undefined;
      const namespace =
        kind === "require-call" ? "builtin-whole" : isLazy(path, importer) ? "builtin-lazy" : "builtin";
      return { path: path.startsWith("node:") ? path : `node:${path}`, namespace, sideEffects: false };
    });
    build.onLoad({ filter: /.*/, namespace: "builtin" }, ({ path }) => ({ contents: properties(path) }));
    build.onLoad({ filter: /.*/, namespace: "builtin-whole" }, ({ path }) => ({
      contents: `module.exports = ${access(path)};`,
    }));
    build.onLoad({ filter: /.*/, namespace: "builtin-lazy" }, ({ path }) => ({
      contents: `export default new Proxy({}, { get: (_, name) => ${access(path)}[name] });`,
    }));
  },
};

/** zod brings its messages in 50 languages; ours are written in English. */
export const englishOnly: Plugin = {
  name: "english-only",
  setup(build) {
    build.onLoad({ filter: /[/]zod[/]v4[/]locales[/]index[.]js$/ }, () => ({
      contents: 'export { default as en } from "./en.js";',
    }));
  },
};

/**
 * The commands in one piece, and the strategies in another. From source each is loaded when it is called.
 * Bundled that way, what two of them share ends up in a dozen chunks of a few lines each, and those take
 * longer to load than all together: 10 ms of 75.
 */
export const piecesTogether: Plugin = {
  name: "pieces-together",
  setup(build) {
    build.onLoad({ filter: TOGETHER }, ({ path }) => ({ contents: sourceOf(path), loader: "ts" }));
  },
};

const COMMANDS = /[/]src[/]cli[/]command-table[.]ts$/;
const STRATEGIES = /[/]src[/]strategies[/]built-in-strategies[.]ts$/;
const TOGETHER = new RegExp(`${COMMANDS.source}|${STRATEGIES.source}`);

/**
 * The text of a file. The commands become part of their table; all strategies are loaded with the first one.
 */
function sourceOf(path: string): string {
  const text = readFileSync(path, "utf8");
  if (STRATEGIES.test(path)) return text.replace(/import\("[^"]+"\)/g, 'import("../strategies.ts")');
  if (!COMMANDS.test(path)) return text;
  const imports: string[] = [];
  const table = text.replace(/import\("([^"]+)"\)/g, (_, file: string) => {
    const name = `command${imports.length}`;
    imports.push(`import * as ${name} from "${file}";`);
    return `Promise.resolve(${name})`;
  });
  return [...imports, table].join("\n");
}

/** Loaded where most of the library is not needed: for help, and by a strategy of somebody's own. */
const LIGHT = ["src/cli/main.ts", "src/strategy.ts"];
const LIBRARY = "src/index.ts";

/**
 * Few chunks, because each takes a millisecond to load. esbuild makes one for every set of pieces (entries,
 * and what is imported when it is needed) that share something. Here every piece brings along what the light
 * ones share with any other, and every piece that is not light the whole library: of all those sets two are
 * left.
 */
export const fewChunks: Plugin = {
  name: "few-chunks",
  async setup({ initialOptions, onLoad }) {
    const plugins = initialOptions.plugins?.filter((plugin) => plugin !== fewChunks) ?? [];
    const { metafile } = await build({ ...initialOptions, plugins, metafile: true, write: false });
    const root = initialOptions.absWorkingDir ?? process.cwd();
    const along = broughtAlong(metafile);
    onLoad({ filter: /[/]src[/].*[.]ts$/ }, ({ path }) => {
      const files = along.get(relative(root, path));
      if (files === undefined) return undefined;
      const imports = files.map((file) => `import ${JSON.stringify(join(root, file))};`);
      return { contents: [...imports, sourceOf(path)].join("\n"), loader: "ts" };
    });
  },
};

/** For each piece, the files that it imports besides its own. */
function broughtAlong(metafile: Metafile): ReadonlyMap<string, readonly string[]> {
  const pieces = Object.values(metafile.outputs).map(({ entryPoint }) => entryPoint ?? "");
  const reached = new Map(pieces.map((piece) => [piece, reachedFrom(metafile, piece)]));
  const files = Object.keys(metafile.inputs).filter((file) => /^src[/].*[.]ts$/.test(file));
  const shared = files.filter((file) => {
    const from = pieces.filter((piece) => reached.get(piece)?.has(file));
    return from.length > 1 && from.some((piece) => LIGHT.includes(piece));
  });
  return new Map(pieces.map((piece) => [piece, LIGHT.includes(piece) ? shared : [...shared, LIBRARY]]));
}

/** Everything that is loaded together with this file. */
function reachedFrom({ inputs }: Metafile, start: string): ReadonlySet<string> {
  const reached = new Set<string>();
  const open = [start];
  for (let file = open.pop(); file !== undefined; file = open.pop()) {
    if (reached.has(file)) continue;
    reached.add(file);
    open.push(
      ...(inputs[file]?.imports ?? [])
        .filter(({ kind }) => kind !== "dynamic-import")
        .map(({ path }) => path),
    );
  }
  return reached;
}

/**
 * They take 1 to 5 ms to load, and most commands never call them: each of their functions loads them when it
 * is called.
 */
const LOADED_WHEN_CALLED = ["node:crypto", "node:net", "node:readline"];

/**
 * commander and ulid import these for what they do only sometimes, as a whole and never by name, and they
 * take 3 to 5 ms to load.
 */
function isLazy(path: string, importer: string): boolean {
  return (
    /[/]node_modules[/](?:commander|ulid)[/]/.test(importer) &&
    /^(?:node:)?(?:child_process|crypto)$/.test(path)
  );
}

function access(path: string): string {
  return `process.getBuiltinModule(${JSON.stringify(path)})`;
}

/**
 * A module with one constant for each property; "pure" lets esbuild drop those that nobody imports, unread.
 */
function properties(path: string): string {
  const module: object = process.getBuiltinModule(path) ?? {};
  const names = Object.keys(module).filter((name) => /^[A-Za-z_]\w*$/.test(name));
  if (LOADED_WHEN_CALLED.includes(path)) {
    const functions = names.filter((name) => typeof Reflect.get(module, name) === "function");
    return functions
      .map((name) => `export const ${name} = (...given) => ${access(path)}.${name}(...given);`)
      .join("\n");
  }
  return [
    `const whole = /* @__PURE__ */ ${access(path)};`,
    "export default whole;",
    ...names.map((name, index) => `const p${index} = /* @__PURE__ */ (() => whole.${name})();`),
    `export { ${names.map((name, index) => `p${index} as ${name}`).join(", ")} };`,
  ].join("\n");
}
