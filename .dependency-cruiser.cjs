/**
 * The import rule of the architecture, as a check. The comment of each rule is the reason that its violation
 * is reported with.
 *
 * Tests beside their source reach for whatever they need, so the rules look at source files only.
 */

/**
 * Folders and files of src/, each with why it stands where it does. One may import only from those above it.
 */
const LAYERS = [
  ["core/", "core/ is the vocabulary that everything else speaks: it knows no other folder"],
  [
    "fleet/protocol/",
    "fleet/protocol/ says what hosts and coordinators of a fleet do, as data: it does nothing itself, so that a simulation can run it",
  ],

  [
    "system/failpoints.ts",
    "failpoints.ts is passed by every step that changes the world: it does nothing else",
  ],
  [
    "system/calls/",
    "system/calls/ is the kernel as typed functions on descriptors: it starts and mounts nothing",
  ],
  ["system/random-bytes.ts", "random-bytes.ts asks the kernel for what names are made of: it names nothing"],
  ["system/data/", "system/data/ reads and writes the content of files: it knows no process and no mount"],
  ["system/process/", "system/process/ starts, bounds and finds processes: it knows nothing of mounts"],
  [
    "system/standstill/",
    "system/standstill/ stops the processes of a namespace for a while: it does not know what for",
  ],
  ["system/git/", "system/git/ finds the repository of a checkout: it knows no plan and no sandbox"],
  ["system/mount/", "system/mount/ reads and changes what is mounted: it knows nothing of our state"],
  [
    "system/btrfs/",
    "system/btrfs/ is one file system's own calls: nothing below it depends on that file system",
  ],
  ["system/groups/", "system/groups/ bounds processes by control groups: what it bounds is decided above it"],
  ["system/state/", "system/state/ is what a state directory needs of the machine: it knows no record in it"],
  ["system/network/", "system/network/ says what names and addresses mean: it connects to nothing"],
  ["system/launch/", "system/launch/ runs in the launcher before a command: it loads as little as it can"],
  [
    "system/launcher/",
    "system/launcher/ starts a launcher and talks to it: what it launches is data, decided above it",
  ],
  [
    "system/walls/",
    "system/walls/ confines a command where it has no namespaces: it knows no plan, and what it may write it is told",
  ],
  ["system/terminal/", "system/terminal/ connects a command's streams with the user's: it knows no plan"],

  ["engine/work/", "engine/work/ paces long work: it knows nothing of the work"],
  ["engine/text/", "engine/text/ compares two texts by their lines: it knows nothing of files"],
  ["engine/tree/", "engine/tree/ walks, copies and removes trees: it knows neither base nor sandbox"],
  [
    "engine/base/",
    "engine/base/ says what an entry was when the sandbox was made, and who changed it since: it compares no trees",
  ],
  ["engine/workspace/", "engine/workspace/ is where a sandbox lives on disk: it does not know what it holds"],
  ["engine/changes/", "engine/changes/ compares a tree with its base: it does not judge what it finds"],
  ["engine/checks/", "engine/checks/ says what may not land: it changes nothing"],
  ["engine/show/", "engine/show/ turns changes into what users read: nothing that lands depends on it"],
  ["engine/manifest/", "engine/manifest/ is the record of a landing on disk: it does not run it"],
  ["engine/staging/", "engine/staging/ prepares a landing: it never changes the original"],
  ["engine/landing/", "engine/landing/ exchanges entries with the original: it knows no kind of sandbox"],
  ["engine/sandbox/", "engine/sandbox/ is what a folder strategy has to say about its tree"],
  ["engine/part/", "engine/part/ moves the base of a sandbox after a part of its work has landed"],
  [
    "engine/checkpoint/",
    "engine/checkpoint/ saves and restores the work in a tree: it knows nothing of landings",
  ],
  [
    "engine/merge/",
    "engine/merge/ brings what another writer changed into a tree: it changes nothing outside of its workspace",
  ],

  ["database/common/", "database/common/ is what databases of every kind share: it knows none of them"],
  ["database/sqlite/", "database/sqlite/ compares and lands SQLite files: it needs no server"],
  ["database/server/", "database/server/ is what all servers have in common: it knows no dialect's driver"],
  ["database/postgres/", "database/postgres/ is one dialect: it knows no other"],
  ["database/mysql/", "database/mysql/ is one dialect: it knows no other"],
  [
    "database/open-server.ts",
    "open-server.ts chooses the driver of a URL: no driver may depend on that choice",
  ],

  ["store/", "store/ keeps records: it must not act on what they describe"],
  [
    "fleet/store/",
    "fleet/store/ keeps the records of many hosts in one database: like store/, it must not act on them",
  ],
  [
    "config/",
    "config/ turns text into checked values, and records which texts the user trusts: it must not use them",
  ],
  ["fleet/link/", "fleet/link/ is what a host tells and asks the database of its fleet: it acts on nothing"],
  [
    "strategies/",
    "strategies/ isolates one resource at a time, finds the strategy of a name and guards its calls: it knows nothing of managers, plans or commits",
  ],
  [
    "sandboxes/",
    "sandboxes/ gives access to plans and handles their sandboxes: what lands together is decided above it",
  ],
  ["commit/", "commit/ lands participants, whatever they are: it knows nothing of what users call a plan"],
  [
    "plans/",
    "plans/ is what users do, in their words: it must work without a command line and without running commands",
  ],
  ["run/", "run/ starts commands inside sandboxes: it must work without a command line"],
  [
    "fleet/remote/",
    "fleet/remote/ calls the strategies of other hosts: it knows no transaction, and runs nothing itself",
  ],
  ["fleet/drive/", "fleet/drive/ drives transactions over hosts: it reaches sandboxes only by calls"],
  ["fleet/host/", "fleet/host/ does what others ask of this host, as its gate allows"],
  [
    "housekeeping.ts",
    "housekeeping.ts is what every start does: it must not depend on what is done afterwards",
  ],
  [
    "testing/",
    "testing/ is shipped for authors of strategies: it must not pull in the composition root or the command line",
  ],
  [
    "services.ts",
    "services.ts says what an open state directory gives: it is types, and must work without what makes them true",
  ],
  [
    "open-state.ts",
    "open-state.ts opens what services work on: it must work without the parts that make them",
  ],
  ["runtime.ts", "runtime.ts puts the parts together: it must not depend on who uses the result"],
  [
    "detached/",
    "detached/ is the process that keeps a detached command of a program: it must work without what shows the services",
  ],
  ["mcp/", "mcp/ shows the services to agents: it must work without a command line, which starts it"],
  [
    "serve/",
    "serve/ shows the services to programs by HTTP: it must work without a command line, which starts it",
  ],
  [
    "cli/",
    "cli/ shows the services to people: it must work without what is for programs, and nothing may build on it",
  ],
  [
    "library/",
    "library/ shows the services to programs, and checks what they hand in: it must work without a command line",
  ],
  [
    "adapters/",
    "adapters/ shows a plan to frameworks as what they call a sandbox: the library must work without them",
  ],
  [
    "strategy.ts",
    "strategy.ts is a public entry, nothing but exports: inside, import from where things are defined",
  ],
  [
    "strategies.ts",
    "strategies.ts is a public entry, nothing but exports: inside, import from where things are defined",
  ],
  [
    "index.ts",
    "index.ts is the public entry, nothing but exports: inside, import from where things are defined",
  ],
];

const TEST = "[.]test[.]ts$";
const pattern = (layer) => layer.replaceAll(".", "[.]") + (layer.endsWith("/") ? "" : "$");
const anyOf = (layers) => `^src/(?:${layers.map(([layer]) => pattern(layer)).join("|")})`;
const nameOf = (layer) => layer.replace(/\/$|[.]ts$/, "");

const layerRules = LAYERS.slice(0, -1).map(([layer, reason], position) => ({
  name: `layer-${nameOf(layer)}`,
  comment: `${reason}. It may import only from ${
    LAYERS.slice(0, position)
      .map(([lower]) => lower)
      .join(", ") || "itself"
  }.`,
  severity: "error",
  from: { path: `^src/${pattern(layer)}`, pathNot: TEST },
  to: { path: anyOf(LAYERS.slice(position + 1)) },
}));

module.exports = {
  forbidden: [
    ...layerRules,
    {
      name: "known-layer",
      comment:
        "every file under src/ belongs to a layer: put it in one, or add a layer to .dependency-cruiser.cjs at its place.",
      severity: "error",
      from: { path: "^src/", pathNot: [anyOf(LAYERS), TEST] },
      to: {},
    },
    {
      name: "library-without-cli",
      comment:
        "the public entries are for programs: one that imports the library must not load the command line with it.",
      severity: "error",
      from: { path: "^src/(?:library/|adapters/|(?:index|strategy|strategies)[.]ts$)" },
      to: { path: "^src/cli/" },
    },
    {
      name: "strategy-alone",
      comment:
        "a strategy imports no other strategy: what two of them share belongs to engine/, database/, strategies/folder/ or strategies/database-snapshot/, so that each can be " +
        "read, replaced and removed alone. Only git-checkout is made of two: an overlay, whose repository lands as a git worktree does.",
      severity: "error",
      from: { path: "^src/strategies/([^/]+)/", pathNot: [TEST, "^src/strategies/git-checkout/"] },
      to: {
        path: "^src/strategies/[^/]+/",
        pathNot: ["^src/strategies/$1/", "^src/strategies/(?:folder|database-snapshot)/"],
      },
    },
    {
      name: "strategy-without-store",
      comment:
        "a strategy never sees the store: what it must remember is in its SandboxRef, and intents go through its " +
        "StrategyContext, so that a custom strategy can do all that a built-in one can.",
      severity: "error",
      from: { path: "^src/strategies/", pathNot: TEST },
      to: { path: "^src/store/" },
    },
    {
      name: "core-is-pure",
      comment:
        "core/ and fleet/protocol/ do no input or output: time, ids, files and the environment are passed in, so that they can be tested as data.",
      severity: "error",
      from: { path: "^src/(?:core|fleet/protocol)/", pathNot: TEST },
      to: { dependencyTypes: ["core"], pathNot: "^(?:node:)?(?:assert|buffer|crypto|path|path/posix|util)$" },
    },
    {
      name: "core-without-packages",
      comment:
        "core/ uses no npm package: whoever writes a strategy depends on it, and on nothing else through it. fleet/protocol/ is data, and needs none.",
      severity: "error",
      from: { path: "^src/(?:core|fleet/protocol)/", pathNot: TEST },
      to: { path: "(?:^|/)node_modules/" },
    },
    {
      name: "only-system-touches-the-system",
      comment:
        "koffi, node:fs and node:child_process are used in system/ only: there every changing call names its failpoint, " +
        "opens beneath and follows no link. Elsewhere a crash test could not reach it. adapters/opencode.ts runs in " +
        "another program, and only starts the command.",
      severity: "error",
      from: { path: "^src/", pathNot: ["^src/system/", "^src/adapters/opencode[.]ts$", TEST] },
      to: { path: "^(?:node:)?(?:fs|fs/promises|child_process)$|(?:^|/)node_modules/(?:koffi|@koromix)/" },
    },
    {
      name: "only-store-uses-sqlite",
      comment:
        "node:sqlite is used by store/ and fleet/store/, which keep our state, and by database/, which drives the users' databases; nobody else.",
      severity: "error",
      from: { path: "^src/", pathNot: ["^src/(?:store|fleet/store|database)/", TEST] },
      to: { path: "^(?:node:)?sqlite$" },
    },
    {
      name: "source-without-tests",
      comment:
        "what is shipped must not import what is not: tests, benchmarks, scripts and examples stay outside.",
      severity: "error",
      from: { path: "^src/", pathNot: TEST },
      to: { path: ["^(?:test|bench|scripts|examples)/", TEST] },
    },
    {
      name: "page-apart",
      comment:
        "page/ runs in browsers: of the source it uses only what touches nothing of Node. Everything else it asks of its server.",
      severity: "error",
      from: { path: "^page/" },
      to: {
        path: "^src/",
        pathNot: [
          "^src/core/(?:plan|paths/byte-path|values/(?:checks|invisible-characters))[.]ts$",
          "^src/plans/renames/rename-index[.]ts$",
          "^src/cli/render/plan/change-notes[.]ts$",
        ],
      },
    },
    {
      name: "source-without-page",
      comment: "page/ is bundled for browsers: the source knows only its built files.",
      severity: "error",
      from: { path: "^src/" },
      to: { path: "^page/" },
    },
    {
      name: "no-circle",
      comment:
        "files that import each other in a circle can only be understood, loaded and replaced together: move what they share out.",
      severity: "error",
      from: {},
      to: { circular: true },
    },
    {
      name: "resolvable",
      comment:
        "an import that leads nowhere fails when it is first used, which may be in the middle of a commit.",
      severity: "error",
      from: { path: "^src/" },
      to: { couldNotResolve: true },
    },
    {
      name: "only-declared-packages",
      comment:
        "a package that package.json does not list under dependencies is missing for whoever installs this one.",
      severity: "error",
      from: { path: "^src/", pathNot: TEST },
      to: { dependencyTypes: ["npm-dev", "npm-no-pkg", "npm-unknown"], dependencyTypesNot: ["type-only"] },
    },
  ],
  options: {
    doNotFollow: { path: ["node_modules", "^dist"] },
    exclude: { path: "^dist/" },
    // Imports of types count as well: a layer that knows the types of another knows that layer.
    tsPreCompilationDeps: true,
    tsConfig: { fileName: "tsconfig.json" },
    enhancedResolveOptions: {
      exportsFields: ["exports"],
      conditionNames: ["drydock-source", "import", "node", "default", "types"],
      extensions: [".ts", ".tsx", ".js", ".mjs", ".json"],
    },
    builtInModules: { add: ["node:sqlite", "sqlite", "node:test", "node:test/reporters"] },
  },
};
