import assert from "node:assert/strict";
import { after, afterEach, before, describe, it } from "node:test";
import { whyNoServer } from "../support/database-servers.ts";
import { FleetScene, planOverBoth, type TestHost } from "./fleet-scene.ts";

describe("a host that never comes back", { skip: whyNoServer("postgres") ?? false }, () => {
  let fleet: FleetScene;
  let web1: TestHost;
  let web2: TestHost;

  before(async () => {
    fleet = await FleetScene.start();
  });
  afterEach(async () => await fleet.clear());
  after(async () => await fleet.end());

  /** A plan made on the first host, with a change on both. */
  async function changed(): Promise<string> {
    [web1, web2] = [fleet.host("web1"), fleet.host("web2")];
    for (const host of [web1, web2]) {
      host.folder("app", { "a.txt": "old\n" });
      await host.up();
    }
    return planOverBoth(web1, web2);
  }

  /** What is left on the host that is gone asks for attention. */
  function abandoned(plan: string) {
    const { status, stdout, stderr } = web1.drydock(["recover", plan, "--abandon", "--json"]);
    assert.equal(status, 4, stderr + stdout);
    return JSON.parse(stdout);
  }

  it("keeps no open plan: that is abandoned, and the host leaves the fleet", async () => {
    const plan = await changed();
    await web2.end();
    const { resources } = abandoned(plan);
    assert.deepEqual(
      resources.map(({ resource, original }: { resource: string; original: string }) => [resource, original]),
      [
        ["app", "untouched"],
        ["there", "untouched"],
      ],
    );
    assert.equal(web1.text("app/a.txt"), "old\n");
    web1.done("host", "remove", "web2");
    assert.match(
      web1.drydock(["plan", "create", "-r", `web2:${web2.path}/app`]).stderr,
      /There is no host called 'web2'/,
    );
  });

  it("[M3] keeps no plan that was landing: a person ends it, originals are free, and nothing lands later", async () => {
    const plan = await changed();
    await web2.end();
    await web2.up({ DRYDOCK_FAILPOINT: "land.exchange=kill" });
    assert.equal(web1.drydock(["plan", "apply", plan]).status, 4);
    assert.deepEqual([web1.text("app/a.txt"), web2.text("app/a.txt")], ["new\n", "old\n"]);
    const refused = web1.drydock(["host", "remove", "web2"]);
    assert.notEqual(refused.status, 0);
    const { state, resources } = abandoned(plan);
    assert.equal(state, "abandoned");
    assert.deepEqual(
      resources.map(({ resource, original }: { resource: string; original: string }) => [resource, original]),
      [
        ["app", "landed"],
        ["there", "unknown"],
      ],
    );
    const { id } = web1.answer("plan", "create", "-r", `${web1.path}/app`);
    assert.equal(web1.drydock(["plan", "write", id, "app", "a.txt"], { input: "newer\n" }).status, 0);
    web1.done("plan", "apply", id);
    assert.equal(web1.text("app/a.txt"), "newer\n");
    await web2.up({});
    const next = planOverBoth(web1, web2);
    web1.done("plan", "apply", next);
    assert.deepEqual([web1.text("app/a.txt"), web2.text("app/a.txt")], ["new\n", "new\n"]);
    web1.done("plan", "undo", next);
    assert.equal(web2.text("app/a.txt"), "old\n", "what was abandoned has not landed meanwhile");
  });
});
