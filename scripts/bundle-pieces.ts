import { readFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { build, type Metafile, type Plugin } from "esbuild";

/**
 * Puts the program into few files, because each takes up to a millisecond to load.
 *
 * A piece is an entry, or a module that the source imports when it needs it. Bundled as it is, each piece
 * becomes a file, and so does each set of modules that two of them share: 50 files for `drydock run`. Here:
 * - The command line is one piece, with all its commands.
 * - What other modules import later is one of three pieces, unless it needs something heavy: LATER, which is
 *   what `drydock run` on a folder imports, LANDING, which is what `drydock plan apply` on an overlay imports
 *   besides, and RARELY, which is all the rest.
 * - Every piece imports the core, which is what the first entries share with any other piece, and what
 *   `drydock plan list` needs, and then those of these three that come before it. So few sets are left that
 *   two pieces share.
 */
export const fewFiles: Plugin = {
  name: "few-files",
  async setup({ initialOptions, onLoad, onResolve }) {
    const plugins = initialOptions.plugins?.filter((plugin) => plugin !== fewFiles) ?? [];
    const { metafile } = await build({ ...initialOptions, plugins, metafile: true, write: false });
    const root = initialOptions.absWorkingDir ?? process.cwd();
    const entries = Object.values(initialOptions.entryPoints ?? {}).filter(
      (file) => typeof file === "string",
    );
    const pieces = new Pieces(metafile, entries);
    onResolve({ filter: /^[.][/]src[/]/ }, ({ path }) => ({ path: join(root, path) }));
    for (const group of GROUPS) {
      onResolve({ filter: new RegExp(`^${group}$`) }, () => ({ path: group, namespace: group }));
      onLoad({ filter: /.*/, namespace: group }, () => ({ contents: pieces.group(group), resolveDir: root }));
    }
    onLoad({ filter: /[/]src[/].*[.]ts$/ }, ({ path }) => ({
      contents: pieces.sourceOf(relative(root, path), readFileSync(path, "utf8")),
      loader: "ts",
    }));
  },
};

const LATER = "drydock-later";
const LANDING = "drydock-landing";
const RARELY = "drydock-rarely";
/** Each imports those before it. */
const GROUPS = [LATER, LANDING, RARELY] as const;
/** What the core has besides what the first entries share. */
const IN_CORE = ["src/plans/describe-plan.ts"];
/** What LATER consists of, with all that these import. */
const IN_LATER: readonly RegExp[] = [
  /^src[/]engine[/]show[/]/,
  /^src[/]plans[/](?:plan-creation|resources[/].*|review[/]plan-inspection)[.]ts$/,
  /^src[/]run[/](?:runs|run-once|channel[/]channel-door|launch[/]launcher|policy[/]command-policies)[.]ts$/,
  /^src[/]strategies[/](?:btrfs-snapshot|copy-on-write|filesystem-copy|none)[/]/,
  /^src[/]strategies[/]overlay[/](?:overlay|ways|probe[/].*)[.]ts$/,
];
/** The same for LANDING. */
const IN_LANDING: readonly RegExp[] = [/^src[/]engine[/](?:landing[/]landings|checks[/].*)[.]ts$/];
type Group = (typeof GROUPS)[number];
const MAIN = "src/cli/main.ts";
const FIRST = [MAIN, "src/index.ts", "src/strategy.ts"];
const COMMAND_LINE = /^src[/]cli[/]/;
const HEAVY =
  /(?:^|[/])node_modules[/](?:zod|yaml|hono|@hono|@modelcontextprotocol|pg)[/]|\bnode:(?:http|dns)\b/;

class Pieces {
  readonly #entries: readonly string[];
  /** For each piece, everything that is loaded together with it. */
  readonly #reached: ReadonlyMap<string, ReadonlySet<string>>;
  readonly #core: readonly string[];

  constructor(metafile: Metafile, entries: readonly string[]) {
    this.#entries = entries;
    const pieces = Object.values(metafile.outputs).flatMap(({ entryPoint }) => entryPoint ?? []);
    this.#reached = new Map(pieces.map((piece) => [piece, reachedFrom(metafile, piece)]));
    this.#core = Object.keys(metafile.inputs).filter((file) => {
      const from = pieces.filter((piece) => this.#reached.get(piece)?.has(file));
      const users = new Set(from.map((piece) => (COMMAND_LINE.test(piece) ? MAIN : piece)));
      const isShared = users.size > 1 && FIRST.some((piece) => users.has(piece));
      return isSource(file) && (isShared || from.some((piece) => IN_CORE.includes(piece)));
    });
  }

  /** The text of a file with other imports. New lines are at its end: the source map stays right. */
  sourceOf(file: string, text: string): string {
    const together: string[] = [];
    const source = text.replace(/\bimport\("([.][^"]+)"\)/g, (whole, name: string) => {
      const target = join(dirname(file), name);
      if (this.#core.includes(target) || COMMAND_LINE.test(target))
        return `Promise.resolve(together${together.push(target) - 1})`;
      const group = this.#groupOf(target);
      if (group === undefined) return whole;
      return `import("${group}").then((later) => later.piece${this.#piecesIn(group).indexOf(target)})`;
    });
    const own = together.map((target, at) => `import * as together${at} from "./${target}";`);
    return [source, ...own, ...this.#broughtAlong(file)].join("\n");
  }

  /** The text of a group of pieces. */
  group(group: Group): string {
    const exported = this.#piecesIn(group).map((file, at) => `export * as piece${at} from "./${file}";`);
    return [...exported, ...this.#broughtAlong(group)].join("\n");
  }

  #piecesIn(group: Group): readonly string[] {
    return [...this.#reached.keys()].filter((piece) => this.#groupOf(piece) === group);
  }

  #groupOf(piece: string): Group | undefined {
    if (!this.#reached.has(piece) || !isSource(piece) || this.#entries.includes(piece)) return undefined;
    if (this.#core.includes(piece) || COMMAND_LINE.test(piece) || this.#isHeavy(piece)) return undefined;
    const isIn = (patterns: readonly RegExp[]) => patterns.some((pattern) => pattern.test(piece));
    return isIn(IN_LATER) ? LATER : isIn(IN_LANDING) ? LANDING : RARELY;
  }

  /** What a piece imports besides its own. */
  #broughtAlong(piece: string): readonly string[] {
    const at = GROUPS.indexOf(piece as Group);
    if (at < 0 && !this.#entries.includes(piece) && !this.#isHeavy(piece)) return [];
    const before = at >= 0 ? GROUPS.slice(0, at) : FIRST.includes(piece) ? [] : [LATER];
    return [...this.#core.map((file) => `./${file}`), ...before].map((name) => `import "${name}";`);
  }

  #isHeavy(piece: string): boolean {
    return [...(this.#reached.get(piece) ?? [])].some((file) => HEAVY.test(file));
  }
}

function isSource(file: string): boolean {
  return /^src[/].*[.]ts$/.test(file);
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
