import assert from "node:assert/strict";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { openDrydock } from "../../src/index.ts";
import { Served } from "../serve/served.ts";
import { whyNoServer } from "../support/database-servers.ts";
import { FleetScene, type TestHost } from "./fleet-scene.ts";

const LEND = [{ location: "/srv", run: true }];

describe("the hosts of a fleet, for programs", { skip: whyNoServer("postgres") ?? false }, () => {
  let fleet: FleetScene;
  let web1: TestHost;

  before(async () => {
    fleet = await FleetScene.start();
    web1 = fleet.host("web1");
    await web1.up();
    const web2 = fleet.host("web2", LEND);
    await web2.up();
    await web2.end();
  });

  after(async () => await fleet.end());

  it("are listed, shown, drained and removed by the library", async () => {
    const { environment } = web1;
    await using drydock = await openDrydock({ cwd: web1.path, environment });
    const { host, hosts } = await drydock.hosts.list();
    assert.equal(host, "web1");
    assert.deepEqual(
      hosts.map(({ name, isUp }) => [name, isUp]),
      [
        ["web1", true],
        ["web2", false],
      ],
    );
    assert.deepEqual((await drydock.hosts.show("web2")).lend, LEND);
    assert.equal((await drydock.hosts.show()).name, "web1");
    assert.equal((await drydock.hosts.drain("web2")).isDrained, true);
    assert.equal((await drydock.hosts.undrain("web2")).isDrained, false);
    await assert.rejects(drydock.hosts.show("web9"), { code: "UNKNOWN_HOST" });
    await assert.rejects(drydock.hosts.remove("web1"), { code: "HOST_UP" });
  });

  it("[P4] are listed, shown, drained and removed by the API", async () => {
    await using served = await Served.start(web1);
    const { client } = served;
    const path = { params: { path: { host: "web2" } } };
    assert.equal((await client.GET("/v1/hosts")).data?.hosts.length, 2);
    assert.deepEqual((await client.GET("/v1/hosts/{host}", path)).data?.plans, []);
    const drained = await client.POST("/v1/hosts/{host}/drain", { ...path, body: {} });
    assert.equal(drained.data?.isDrained, true);
    const again = await client.POST("/v1/hosts/{host}/drain", { ...path, body: { undo: true } });
    assert.equal(again.data?.isDrained, false);
    const up = await client.DELETE("/v1/hosts/{host}", { params: { path: { host: "web1" } } });
    assert.equal(up.error?.code, "HOST_UP");
    assert.deepEqual((await client.DELETE("/v1/hosts/{host}", path)).data, { removed: "web2" });
    const gone = await client.GET("/v1/hosts/{host}", path);
    assert.equal(gone.error?.code, "UNKNOWN_HOST");
  });

  it("[P10] are listed and shown by the client for Python", async () => {
    await using served = await Served.start(web1);
    const program = `
import drydock, sys
client = drydock.Client(sys.argv[1])
print(client.hosts()["host"], client.host("web1")["isUp"])
print(client.drain_host("web1")["isDrained"], client.drain_host("web1", undo=True)["isDrained"])
try:
    client.remove_host("web1")
except drydock.DrydockError as error:
    print(error.code)
`;
    const { status, stdout, stderr } = web1.run("python3", ["-c", program, served.ready.socket ?? ""], {
      env: { PYTHONPATH: join(import.meta.dirname, "../../clients/python") },
    });
    assert.equal(status, 0, stderr);
    assert.equal(stdout, "web1 True\nTrue False\nHOST_UP\n");
  });
});
