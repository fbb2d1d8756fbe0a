import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { BUILT_IN_STRATEGY_NAMES } from "../core/strategy-names.ts";
import { loadConfig } from "./load.ts";
import { type Config, DEFAULT_SETTINGS } from "./settings.ts";
import type { Environment } from "./yaml/environment-references.ts";

const FILE = "/home/me/project/drydock.yaml";
const load = (text: string, environment: Environment = {}): Config =>
  loadConfig({ file: FILE, text, environment });

describe("loadConfig", () => {
  it("gives the defaults for an empty file, one of comments, and one of empty sections", () => {
    const texts = ["", "# nothing\n", "---\n", "{}", "\ufeff", "sandbox:\nresources:\nresource_types: ~\n"];
    texts.push("sandbox:\n  checkpoint:\n  undo:\n  custom_strategies:\n");
    for (const text of texts)
      assert.deepEqual(load(text), { file: FILE, ...DEFAULT_SETTINGS }, JSON.stringify(text));
  });

  it("reads every key", () => {
    const config = load(`
sandbox:
  strategy: mine
  cleanup: on_terminal
  allow_setid: true
  allow_self_running: ["app:.envrc", "**/.vscode"]
  allow_devices: true
  checkpoint: { auto_create_on: [], keep: 3 }
  undo: { keep: 12h }
  git: { fast_forward: true, run_hooks: true, timeout: 5m }
  transaction: { idle: 10m, age: 2h }
  limits: { processes: 50, memory: 512m, scratch: 2g, time: 90s }
  custom_strategies:
    mine: { module: ./mine.mjs, class: Mine, options: { deep: [1, { a: null }] }, timeout: 90s }
    other: "@scope/package:Other"
checks: [npm test, { run: npm run lint, name: lint, timeout: 5m }]
run:
  profile: claude
  read: { deny: [~/.ssh], allow: [~/.ssh/config] }
  home: { persist: [~/.tool], write_back: [~/.file], own: true }
  sockets: { docker: true, wayland: false, paths: [/run/x] }
  env: { allow: ["*"], deny: [A_*], set: { B: "1" } }
resources:
  app: { location: ./app, type: build-folder, strategy: overlay }
  lib: { location: /srv/lib, parent: app, strategy: auto, from: checkout }
  data: { location: "postgres://localhost/data" }
resource_types:
  build-folder: { extends: fs-directory, sandbox_strategy: other }
  deep-folder: { extends: build-folder }
`);
    assert.deepEqual(config, {
      file: FILE,
      run: [
        {
          owner: "project",
          profiles: ["claude"],
          read: {
            deny: [{ value: "~/.ssh", from: `${FILE}:19:18` }],
            allow: [{ value: "~/.ssh/config", from: `${FILE}:19:35` }],
          },
          ownHome: { isOn: true, from: `${FILE}:20:54` },
          persist: [{ value: "~/.tool", from: `${FILE}:20:21` }],
          writeBack: [{ value: "~/.file", from: `${FILE}:20:44` }],
          sockets: {
            allow: [
              { value: "docker", from: `${FILE}:21:14` },
              { value: "/run/x", from: `${FILE}:21:52` },
            ],
            deny: [{ value: "wayland", from: `${FILE}:21:28` }],
          },
          variables: {
            allow: [{ value: "*", from: `${FILE}:22:18` }],
            deny: [{ value: "A_*", from: `${FILE}:22:31` }],
            set: [{ name: "B", value: "1", from: `${FILE}:22:44` }],
          },
        },
      ],
      sandbox: {
        strategy: "mine",
        cleanup: "on_terminal",
        allowSetid: true,
        allowDevices: true,
        allowSelfRunning: ["app:.envrc", "**/.vscode"],
        keepOutput: true,
        checkpoint: { autoCreateOn: [], keep: 3 },
        undo: { keepMilliseconds: 43_200_000 },
        merge: { keepBytes: 2 ** 20 },
        closedPlans: { keepMilliseconds: 90 * 86_400_000, mostChanges: 10_000 },
        git: { fastForward: true, runHooks: true, limitMilliseconds: 300_000 },
        transaction: { idleMilliseconds: 600_000, ageMilliseconds: 7_200_000 },
        limits: { processes: 50, memory: 536_870_912, scratch: 2_147_483_648, time: 90_000 },
        customStrategies: [
          {
            name: "mine",
            module: "./mine.mjs",
            className: "Mine",
            options: { deep: [1, { a: null }] },
            limitMilliseconds: 90_000,
            folder: "/home/me/project",
            place: "/home/me/project/drydock.yaml:14:5",
          },
          {
            name: "other",
            module: "@scope/package",
            className: "Other",
            limitMilliseconds: 1_800_000,
            folder: "/home/me/project",
            place: "/home/me/project/drydock.yaml:15:5",
          },
        ],
      },
      checks: [
        { run: "npm test", time: 900_000 },
        { run: "npm run lint", name: "lint", time: 300_000 },
      ],
      resources: [
        { name: "app", location: "/home/me/project/app", type: "build-folder", strategy: "overlay" },
        { name: "lib", location: "/srv/lib", parent: "app", strategy: "auto", from: "checkout" },
        { name: "data", location: "postgres://localhost/data" },
      ],
      resourceTypes: [
        { name: "build-folder", extends: "fs-directory", sandboxStrategy: "other" },
        { name: "deep-folder", extends: "build-folder" },
      ],
    });
  });

  it("[S6] takes every built-in strategy, and auto, wherever a strategy is named", () => {
    for (const name of ["auto", ...BUILT_IN_STRATEGY_NAMES]) {
      const { sandbox, resources, resourceTypes } = load(`
sandbox: { strategy: ${name} }
resources: { a: { location: ., strategy: ${name} } }
resource_types: { b: { extends: fs-file, sandbox_strategy: ${name} } }
`);
      assert.deepEqual(
        [sandbox.strategy, resources[0]?.strategy, resourceTypes[0]?.sandboxStrategy],
        [name, name, name],
      );
    }
  });

  it("takes a relative location from the folder of the file, and leaves URLs alone", () => {
    const locations = [
      ".",
      "../other",
      "a//b/./c/",
      "/x/../y",
      "mysql://u@h:3306/d?a=b",
      "C:/odd",
      '"\\udc80"',
      "mailto:x",
    ];
    const text = locations.map((location, at) => `  r${at}: { location: ${location} }`).join("\n");
    assert.deepEqual(
      load(`resources:\n${text}`).resources.map(({ location }) => location),
      [
        "/home/me/project",
        "/home/me/other",
        "/home/me/project/a/b/c",
        "/y",
        "mysql://u@h:3306/d?a=b",
        "/home/me/project/C:/odd",
        "/home/me/project/\udc80",
        "/home/me/project/mailto:x",
      ],
    );
  });

  it("replaces references in values from the environment that it is given, and in nothing else", () => {
    const text =
      "resources:\n  a: { location: '${ROOT}/x' }\n  b: { location: 'postgres://u:${PASSWORD}@h/$${d}' } # ${NOT}\n";
    assert.deepEqual(
      load(text, { ROOT: "/srv", PASSWORD: "${ROOT}: }" }).resources.map(({ location }) => location),
      ["/srv/x", "postgres://u:${ROOT}: }@h/${d}"],
    );
  });

  it("follows aliases", () => {
    const text =
      "resources:\n  a: &a { location: ./a, type: &t fs-file }\n  b: { location: ./b, type: *t }\n  c: *a\n";
    assert.deepEqual(load(text).resources[2], { name: "c", location: "/home/me/project/a", type: "fs-file" });
    assert.equal(load(text).resources[1]?.type, "fs-file");
  });

  it("takes a class after the last colon", () => {
    const { sandbox } = load(
      "sandbox: { custom_strategies: { a: 'file:///x/y.mjs:A', b: './odd:name.mjs:$b_1' } }",
    );
    assert.deepEqual(
      sandbox.customStrategies.map(({ name, module, className }) => ({ name, module, className })),
      [
        { name: "a", module: "file:///x/y.mjs", className: "A" },
        { name: "b", module: "./odd:name.mjs", className: "$b_1" },
      ],
    );
  });
});
