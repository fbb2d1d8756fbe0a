import { readFileSync } from "node:fs";
import { isBuiltin } from "node:module";
import type { Plugin } from "esbuild";

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
      // A copy for the command line alone: one that it shares with some pieces would be a file of its own.
      const suffix = /[/]src[/]cli[/]|[/]node_modules[/]commander[/]/.test(importer) ? "?cli" : "";
      const name = path.startsWith("node:") ? path : `node:${path}`;
      return { path: name, suffix, namespace, sideEffects: false };
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
 * commander looks at the flags of each option with a pattern of all letters there are, for which V8 makes a
 * table of them. Ours are words of ASCII.
 */
export const plainFlags: Plugin = {
  name: "plain-flags",
  setup(build) {
    build.onLoad({ filter: /[/]commander[/]lib[/]option[.]js$/ }, ({ path }) => {
      const text = readFileSync(path, "utf8");
      const contents = text.replace("/\\p{ID_Continue}\\.\\.\\.[>\\]]$/u", "/\\w\\.\\.\\.[>\\]]$/");
      if (contents === text) throw new Error(`${path} has another pattern for the flags of an option.`);
      return { contents };
    });
  },
};

/**
 * They take a quarter to 5 ms to load, and most commands never call them: each of their functions and classes
 * loads them when it is called.
 */
const LOADED_WHEN_CALLED = [
  ...["node:crypto", "node:net", "node:readline", "node:stream/promises", "node:timers/promises"],
];

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
      .map(
        (name) => `export const ${name} = function (...given) {
          const called = ${access(path)}.${name};
          return new.target === undefined ? called(...given) : new called(...given);
        };`,
      )
      .join("\n");
  }
  return [
    `const whole = /* @__PURE__ */ ${access(path)};`,
    "export default whole;",
    ...names.map((name, index) => `const p${index} = /* @__PURE__ */ (() => whole.${name})();`),
    `export { ${names.map((name, index) => `p${index} as ${name}`).join(", ")} };`,
  ].join("\n");
}
