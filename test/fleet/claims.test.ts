import assert from "node:assert/strict";
import { after, afterEach, before, beforeEach, describe, it } from "node:test";
import type { Owner } from "../../src/core/owner.ts";
import type { PlanRecord } from "../../src/core/plan.ts";
import { splitSecret } from "../../src/core/resource/secret-url.ts";
import { Hosts } from "../../src/fleet/link/hosts.ts";
import { FleetStore } from "../../src/fleet/store/fleet-store.ts";
import { HostView } from "../../src/fleet/store/host-view.ts";
import { openPostgresRecords } from "../../src/fleet/store/postgres-store.ts";
import { TestPostgres, whyNoServer } from "../support/database-servers.ts";

/** A host of which only the records matter. */
class RecordedHost {
  readonly store: FleetStore;
  readonly hosts: Hosts;
  readonly owner: Owner;

  static async open(name: string, server: TestPostgres): Promise<RecordedHost> {
    const { location, secret } = splitSecret(server.url());
    const records = await openPostgresRecords({ location, secret, patienceMs: 30_000 }, new HostView(name));
    await new Hosts(records).join(name, `directory of ${name}`);
    return new RecordedHost(name, new FleetStore(records, false, () => undefined), new Hosts(records));
  }

  private constructor(name: string, store: FleetStore, hosts: Hosts) {
    this.store = store;
    this.hosts = hosts;
    this.owner = { id: name, host: name, bootId: "b", pid: 1, startTime: "1", command: "drydock" };
  }

  async claims(...keys: readonly string[]): Promise<boolean> {
    return (await this.store.claim(keys, this.owner, () => true)).granted;
  }
}

/** A plan over these locations, as the host sees them that makes it. */
function plan(...locations: readonly string[]): PlanRecord {
  const resources = locations.map((location, at) => ({
    resource: { id: `R${at}`, name: `r${at}`, type: "fs-directory", location, properties: {} },
    strategy: "overlay",
    why: "",
  }));
  const createdAt = "2026-01-01T00:00:00.000Z";
  return {
    id: "P",
    name: "p",
    state: "open",
    readOnly: false,
    allowIrreversible: false,
    createdAt,
    resources,
  };
}

describe("claims of a host whose lease is gone", { skip: whyNoServer("postgres") ?? false }, () => {
  let server: TestPostgres;
  let web1: RecordedHost;
  let web2: RecordedHost;

  before(async () => {
    server = new TestPostgres();
    await server.startFilled();
  });

  after(() => server.remove());

  beforeEach(async () => {
    await server.sql("DROP SCHEMA IF EXISTS drydock CASCADE");
    [web1, web2] = [await RecordedHost.open("web1", server), await RecordedHost.open("web2", server)];
  });

  afterEach(() => {
    for (const { store } of [web1, web2]) store.close();
  });

  it("[M7] are another host's, where neither its originals nor a sandbox of its own are at stake", async () => {
    await web1.store.write([{ put: "plan", record: plan("web2:/srv/app") }], "durable");
    assert.ok(await web1.claims("plan:P", "path:web2:/srv/app", "name:p"));
    assert.ok(await web2.claims("plan:P", "path:/srv/app", "name:p"));
  });

  it("[M4] are still its own on its originals: a process there may be at work in them", async () => {
    assert.ok(await web1.claims("path:/srv/app"));
    for (const key of ["path:web1:/srv/app", "path:web1:/srv", "path:web1:/srv/app/conf"])
      assert.ok(!(await web2.claims(key)), key);
    assert.ok(await web2.claims("path:/srv/app", "path:web1:/srv/apple"));
  });

  it("[M4] are still its own on a plan with a sandbox there: a process there may be changing it", async () => {
    await web1.store.write([{ put: "plan", record: plan("/srv/app", "web2:/srv/app") }], "durable");
    assert.ok(await web1.claims("plan:P"));
    assert.ok(!(await web2.claims("plan:P")));
  });

  it("[M4] are gone when it is removed from the fleet", async () => {
    assert.ok(await web1.claims("path:/srv/app"));
    await web2.hosts.remove("web1");
    assert.ok(await web2.claims("path:web1:/srv/app"));
  });
});
