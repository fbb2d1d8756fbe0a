import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { pathToFileURL } from "node:url";
import { conformanceCases, runConformance } from "drydock-sandbox/testing";
import { openServices } from "../../src/runtime.ts";
import type { Services } from "../../src/services.ts";
import { assertRefused, Workplace } from "../end-to-end/workplace.ts";
import { runProcess } from "../rivals/drydock-process.ts";
import { fastFolder } from "../support/fast-folder.ts";
import { IS_LONG } from "../support/long-form.ts";
import { whyNoPodman } from "../support/podman.ts";
import { PodmanEngine } from "../support/podman-engine.ts";
import { InstalledExample } from "./installed-example.ts";

const IMAGE = "localhost/app:latest";
const FILES = {
  "etc/name": "app\n",
  "app/page.txt": "old page\n",
  "app/old.txt": "old\n",
  "app/gone/one.txt": "1\n",
};

/** The command of the image: what an agent may do in the container. */
const CHANGE = `
  #include <stdio.h>
  #include <sys/stat.h>
  #include <unistd.h>
  int main(void) {
    FILE *page = fopen("/app/page.txt", "w");
    fputs("new page\\n", page);
    fclose(page);
    return unlink("/app/gone/one.txt") | rmdir("/app/gone") | chmod("/app/old.txt", 0600) | symlink("page.txt", "/app/link");
  }`;

/** What of the contract is tried in the normal form. All of it takes minutes: an image is made for each. */
const SHORT = ["restores the same checkpoint again"];

/** Each request of a killed process arrives late in a trial of its own. */
const LIMIT_MS = 1_200_000;

describe("The example of a strategy for containers", { skip: whyNoPodman() ?? false }, () => {
  let engine: PodmanEngine;
  let example: InstalledExample;

  before(async () => {
    process.env["TMPDIR"] = fastFolder();
    const installing = InstalledExample.install("container").then((installed) => {
      example = installed;
    });
    const [started, installed] = await Promise.allSettled([PodmanEngine.start(), installing]);
    if (started.status === "rejected") throw started.reason;
    engine = started.value;
    if (installed.status === "rejected") throw installed.reason;
    process.env["CONTAINER_HOST"] = `unix://${engine.socket}`;
    process.env["NODE_OPTIONS"] = `${process.env["NODE_OPTIONS"] ?? ""} --conditions=drydock-source`.trim();
  });
  after(async () => {
    example?.[Symbol.dispose]();
    await engine?.remove();
  });

  /** The id of the image, and its settings. */
  const inspect = () => engine.podman("image", "inspect", "--format", "{{.Id}} {{json .Config}}", IMAGE);

  it("is written against the public contract, and its types fit", () => example.checkTypes());

  it("[S9] conforms to the contract, and leaves nothing behind", async () => {
    const url = pathToFileURL(example.at("container-strategy.ts")).href;
    const { ContainerStrategy } = await import(url);
    const { makeImage } = await import(example.at("image-fixture.ts"));
    const cases = conformanceCases.filter(({ name }) => IS_LONG || SHORT.includes(name));
    const environment = { PATH: process.env["PATH"] ?? "", NODE_OPTIONS: process.env["NODE_OPTIONS"] ?? "" };
    const { failed, passed } = await runConformance(
      {
        create: (context) => new ContainerStrategy(context),
        makeResource: makeImage,
        module: { url, className: "ContainerStrategy", environment },
      },
      { cases, scratchDir: fastFolder(), limitMs: LIMIT_MS },
    );
    assert.deepEqual(failed, []);
    const tried = passed.map(({ name }) => name);
    assert.deepEqual(
      SHORT.filter((name) => !tried.includes(name)),
      [],
    );
    assert.equal(engine.podman("ps", "--all", "--quiet"), "");
    const images = engine.podman("images", "--all", "--format", "{{.Repository}}:{{.Tag}}").split("\n");
    const isForUndo = (name: string) => /^localhost\/drydock\/\w+:(?:before|landing)-/.test(name);
    assert.deepEqual(
      images.filter((name) => name !== "" && !isForUndo(name)),
      [],
      "only what landed can still be undone",
    );
  });

  it("[A1] [B10] image and files land by one switch, together with a folder, and come back by one", async () => {
    engine.buildImage(IMAGE, FILES, CHANGE);
    using place = new Workplace();
    const config = example.at("drydock.yaml");
    place.folder("website", { "index.html": "old\n" });
    const before = inspect();
    const open = () => openServices({ stateDir: place.state, cwd: place.path, config });
    const plan = await using(await open(), async (drydock) => {
      const image = { location: `image://${IMAGE}`, type: "container-image", name: "app" };
      const { id } = await drydock.plans.create({ resources: [{ location: "website" }, image] });
      await drydock.plans.write(id, "website", "index.html", Buffer.from("new\n"));
      const work = /container (drydock-\S+):/.exec(JSON.stringify(await drydock.plans.show(id)))?.[1];
      assert.ok(work !== undefined, "the plan says where the work is");
      engine.podman("start", "--attach", work);
      const { changes } = await drydock.plans.diff(id);
      assert.deepEqual(
        changes.filter(({ resource }) => resource === "app").map((each) => `${each.operation} ${each.path}`),
        [
          "deleted app/gone",
          "deleted app/gone/one.txt",
          "added app/link",
          "modified app/old.txt",
          "modified app/page.txt",
        ],
      );
      return id;
    });
    assert.equal(inspect(), before);

    // Killed right before the one step that lands it: the decision is made, so another process finishes.
    const task = { stateDir: place.state, config, calls: [["apply", plan]] as const };
    const end = await runProcess(task, { failpoint: "container.land:1=kill" });
    assert.equal(end.signal, "SIGKILL", end.stderr);
    assert.equal(inspect(), before);
    await using(await open(), async (drydock) => {
      assert.deepEqual(drydock.recovery.pending, []);
      assert.equal(place.read("website/index.html"), "new\n");
      const [id, settings] = splitOnce(inspect());
      assert.notEqual(id, splitOnce(before)[0]);
      assert.deepEqual(meaningOf(settings), meaningOf(splitOnce(before)[1]), "the image's own settings stay");
      await drydock.plans.undo(plan);
    });
    assert.equal(place.read("website/index.html"), "old\n");
    assert.equal(inspect(), before);
    assert.equal(engine.podman("ps", "--all", "--quiet"), "");
    assert.deepEqual(engine.podman("images", "--format", "{{.Repository}}").split("\n").filter(Boolean), [
      "localhost/app",
    ]);
  });

  it("refuses an image that is not there, with the reason", () => {
    using place = new Workplace();
    const create = place.drydock(["plan", "create", "-r", "image://localhost/nowhere,type=container-image"], {
      env: {
        DRYDOCK_CONFIG: example.at("drydock.yaml"),
        CONTAINER_HOST: `unix://${engine.socket}`,
        NODE_OPTIONS: "--conditions=drydock-source",
      },
    });
    assertRefused(create, 1, /there is no image localhost\/nowhere:latest/);
  });
});

async function using<Result>(
  drydock: Services,
  use: (drydock: Services) => Promise<Result>,
): Promise<Result> {
  try {
    return await use(drydock);
  } finally {
    await drydock.close();
  }
}

function splitOnce(text: string): readonly [string, string] {
  const at = text.indexOf(" ");
  return [text.slice(0, at), text.slice(at + 1)];
}

/** The settings of an image that mean something: no entrypoint and an empty one are the same. */
function meaningOf(config: string) {
  const { Env, Cmd, Entrypoint, WorkingDir } = JSON.parse(config);
  return { Env, Cmd, Entrypoint: Entrypoint ?? [], WorkingDir: WorkingDir || "/" };
}
