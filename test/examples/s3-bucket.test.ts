import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { pathToFileURL } from "node:url";
import type { TwoPhaseSandboxStrategy } from "drydock-sandbox/strategy";
import { conformanceCases, runConformance } from "drydock-sandbox/testing";
import { chosenCases } from "../conformance/describe-conformance.ts";
import { assertRefused } from "../end-to-end/workplace.ts";
import { lastError, runProcess } from "../rivals/drydock-process.ts";
import { fastFolder } from "../support/fast-folder.ts";
import { IS_LONG } from "../support/long-form.ts";
import { S3Client } from "../support/s3-client.ts";
import { TestS3, whyNoS3 } from "../support/s3-server.ts";
import { contextIn } from "../support/strategy-context.ts";
import { BucketWorkshop, NEW, OLD } from "./bucket-workshop.ts";
import { InstalledExample } from "./installed-example.ts";

/** What a check says, by case. */
interface Checked {
  readonly passed: readonly { readonly group: string }[];
  readonly failed: readonly { readonly name: string }[];
}

describe("The example of a strategy for S3 buckets", { skip: whyNoS3() ?? false }, () => {
  let server: TestS3;
  let example: InstalledExample;
  let bucket: S3Client;
  let count = 0;

  before(async () => {
    // All that is killed here is killed by SIGKILL, which no flush protects from.
    process.env["TMPDIR"] = fastFolder();
    // Whichever of the two fails, the other one has to be removed.
    const installing = InstalledExample.install("s3-bucket").then((installed) => {
      example = installed;
    });
    const [started, installed] = await Promise.allSettled([TestS3.start(), installing]);
    if (started.status === "rejected") throw started.reason;
    server = started.value;
    if (installed.status === "rejected") throw installed.reason;
    bucket = new S3Client(server, "originals");
    await bucket.makeBucket({ versioned: true });
    Object.assign(process.env, server.environment, { DRYDOCK_S3_BUCKET: bucket.bucket });
    // In processes that are started here the package has to be the source too; they are many, and load the
    // same.
    process.env["NODE_COMPILE_CACHE"] = example.at("compile-cache");
    process.env["NODE_OPTIONS"] = `${process.env["NODE_OPTIONS"] ?? ""} --conditions=drydock-source`.trim();
  });
  after(async () => {
    example?.[Symbol.dispose]();
    await server?.remove();
  });

  const tried = new Set<string>();
  const workshop = () => BucketWorkshop.make(bucket, example.at("drydock.yaml"), `try-${count++}`);

  it("is written against the public contract, and its types fit", async () => {
    await example.checkTypes();
    const imports = readdirSync(example.path)
      .filter((name) => name.endsWith(".ts"))
      .flatMap((name) => [...readFileSync(example.at(name), "utf8").matchAll(/from "([^.n][^"]*)"/g)])
      .map(([, module]) => module);
    assert.deepEqual([...new Set(imports)].sort(), [
      "@aws-sdk/client-s3",
      "drydock-sandbox/strategy",
      "drydock-sandbox/testing",
    ]);
  });

  it("[S9] [B9] conforms to the contract, and leaves nothing behind", async () => {
    const { failed, passed } = await (IS_LONG ? checkByCommand() : checkHere());
    assert.deepEqual(failed, []);
    const groups = new Set(passed.map(({ group }) => group));
    for (const group of [
      ...["isolation", "exactness", "two-phase", "undo", "checkpoints", "conflicts", "late requests"],
      ...(IS_LONG ? ["crash"] : []),
    ])
      assert.ok(groups.has(group), `nothing about ${group} was tried`);
    assert.deepEqual(await bucket.uploads(), []);
    assert.deepEqual(await bucket.versions("conformance-"), []);
  });

  /** All of it, as the author of a strategy does. */
  async function checkByCommand(): Promise<Checked> {
    await using place = await workshop();
    const maker = `${example.at("made-bucket.ts")}:makeBucket`;
    const env = { DRYDOCK_S3_BUCKET: bucket.bucket, TMPDIR: fastFolder() };
    const ended = place.drydock(["strategy", "check", "s3_bucket", "--resource", maker, "--json"], {
      env,
      patienceMs: 600_000,
    });
    return JSON.parse(ended.stdout);
  }

  /** Without most of what kills processes: they die at all failpoints of the strategy below. */
  async function checkHere(): Promise<Checked> {
    const url = pathToFileURL(example.at("s3-bucket-strategy.ts")).href;
    const className = "S3BucketStrategy";
    const options = { timeout_seconds: 30 };
    const strategy = await import(url);
    const { makeBucket } = await import(example.at("made-bucket.ts"));
    const environment = {
      ...server.environment,
      PATH: process.env["PATH"] ?? "",
      NODE_COMPILE_CACHE: example.at("compile-cache"),
    };
    const late = conformanceCases.filter(({ name }) => name.startsWith("finishes a commitPrepared"));
    const others = chosenCases({ oneIn: 2 }).filter(
      ({ group }) => group !== "crash" && group !== "late requests",
    );
    const cases = [...others, ...late];
    return await runConformance(
      {
        create: (context) => new strategy[className](context, options),
        makeResource: makeBucket,
        module: { url, className, options, environment },
      },
      { cases, scratchDir: fastFolder() },
    );
  }

  it("[A1] [A16] lands with a folder or not at all, keeps how an object is served, and is undone to the very version", async () => {
    await using place = await workshop();
    const before = await bucket.versions(`${place.prefix}/`);
    const drydock = await place.open();
    const plan = await place.plan(drydock);
    const large = Buffer.alloc(17 * 1024 * 1024, "0123456789abcdef\n");
    await drydock.plans.write(plan, "site", "large.bin", large);
    await drydock.plans.write(plan, "site", "empty", Buffer.alloc(0));
    assert.deepEqual(await place.sides(), OLD);
    const { changes } = await drydock.plans.diff(plan);
    assert.deepEqual(
      changes.map(({ resource, path, operation, kind }) => `${operation} ${kind} ${resource}/${path}`).sort(),
      [
        "added object site/empty",
        "added object site/large.bin",
        "added object site/made/here.txt",
        "modified file website/index.html",
        "modified object site/page.html",
      ],
    );
    await drydock.plans.apply(plan);
    assert.deepEqual(await place.sides(), NEW);
    assert.ok(large.equals((await bucket.get(`${place.prefix}/large.bin`)) ?? Buffer.alloc(0)));
    assert.equal(await bucket.text(`${place.prefix}/empty`), "");
    const headers = await bucket.headers(`${place.prefix}/page.html`);
    assert.deepEqual(
      ["content-type", "cache-control", "x-amz-meta-author"].map((name) => headers.get(name)),
      ["text/html", "max-age=77", "somebody"],
    );
    await drydock.plans.undo(plan);
    assert.deepEqual(await place.sides(), OLD);
    assert.deepEqual(await bucket.versions(`${place.prefix}/`), before);
    assert.deepEqual(readdirSync(join(place.state, "s3-buckets")), [], "nothing is kept once it is undone");
  });

  for (const method of ["apply", "undo"] as const)
    it(`[A3] [A7] a crash anywhere in ${method} leaves both old or both new, and no upload`, async (t) => {
      const points = await pointsOf(method);
      const found = new Set<string>();
      for (const point of points) found.add(await crashAt(method, point));
      assert.deepEqual([...found].sort(), [JSON.stringify(NEW), JSON.stringify(OLD)].sort());
      t.diagnostic(`${points.length} points: ${points.join(" ")}`);
    });

  it("[A7] an error in the middle of an upload fails the plan, and gives every upload up", async () => {
    await using place = await workshop();
    const plan = await place.plan(await place.open());
    const end = await runProcess(taskOf(place, "apply", plan), { failpoint: "s3.upload-part:2=error" });
    assert.equal(lastError(end).name, "AtomicCommitError");
    assert.deepEqual([await place.sides(), await bucket.uploads()], [OLD, []]);
    await (await place.open()).plans.apply(plan);
    assert.deepEqual(await place.sides(), NEW);
  });

  it("leaves uploads of others alone when it gives its own up", async () => {
    await using place = await workshop();
    const key = `${place.prefix}/page.html`;
    const older = await bucket.beginUpload(key);
    const plan = await place.plan(await place.open());
    await runProcess(taskOf(place, "apply", plan), { failpoint: "s3.note-upload-id:1=kill" });
    const theirs = await bucket.beginUpload(key);
    await bucket.sendPart(key, theirs, "their part\n");
    await (await place.open()).recover();
    assert.deepEqual((await bucket.uploads()).map(({ id }) => id).sort(), [older, theirs].sort());
    for (const id of [older, theirs]) await bucket.abortUpload(key, id);
  });

  it("lands all the same if somebody gave its uploads up after the decision", async () => {
    await using place = await workshop();
    const plan = await place.plan(await place.open());
    await runProcess(taskOf(place, "apply", plan), { failpoint: "s3.complete-upload:1=kill" });
    const uploads = await bucket.uploads();
    assert.ok(uploads.length > 0, "it died before anything was completed");
    for (const { key, id } of uploads) await bucket.abortUpload(key, id);
    const { recovery } = await place.open();
    assert.deepEqual([recovery.pending, await place.sides(), await bucket.uploads()], [[], NEW, []]);
  });

  it("[A6] refuses to land over what another writer wrote meanwhile, and to undo over it", async () => {
    await using place = await workshop();
    const drydock = await place.open();
    const plan = await place.plan(drydock);
    const key = `${place.prefix}/page.html`;
    await bucket.put(key, "their object\n");
    const ended = place.drydock(["plan", "apply", plan]);
    assert.equal(ended.status, 3, ended.stderr);
    assert.match(ended.stderr, /conflict: site\/page\.html.*another writer wrote it meanwhile/);
    assert.deepEqual(await place.sides(), { ...OLD, changed: "their object\n" });
    assert.deepEqual(await bucket.uploads(), []);
    const second = await place.plan(drydock);
    await drydock.plans.apply(second);
    await bucket.put(key, "their newer object\n");
    assert.equal(place.drydock(["plan", "undo", second]).status, 3);
    assert.deepEqual(await place.sides(), { ...NEW, changed: "their newer object\n" });
  });

  it("[A19] keeps what somebody wrote in the last moment beneath what lands, and names it", async () => {
    await using place = await workshop();
    const plan = await place.plan(await place.open());
    const running = place.start(["plan", "apply", plan, "--json"], {
      DRYDOCK_FAILPOINT: "s3.complete-upload:1=stop",
    });
    await running.stopped();
    const theirs = await bucket.put(`${place.prefix}/page.html`, "their last word\n");
    running.signal("SIGCONT");
    const { status, stdout } = await running.ended();
    assert.equal(status, 4, stdout);
    const keptAt = `${place.location}/page.html?versionId=${theirs}`;
    const [attention, ...others] = JSON.parse(stdout).attention;
    assert.deepEqual(others, []);
    assert.deepEqual([attention.resource, attention.path, attention.keptAt], ["site", "page.html", keptAt]);
    assert.deepEqual(await place.sides(), NEW);
    assert.equal(await bucket.text(`${place.prefix}/page.html`, theirs), "their last word\n");
  });

  it("[A19] takes a landing back that a person gives up, says the same again, and leaves what somebody wrote since", async () => {
    await using place = await workshop();
    const { strategy, ref, land } = await sandboxIn(place);
    const { transaction, prepared } = await land();
    const theirs = await bucket.put(`${place.prefix}/page.html`, "theirs on top\n");
    const keptAt = `${place.location}/page.html?versionId=${theirs}`;
    for (const time of ["first", "second"]) {
      const attention = (await strategy.rollbackPrepared(ref, transaction, prepared)) ?? [];
      assert.deepEqual(
        attention.map((each) => [each.path, each.keptAt]),
        [["page.html", keptAt]],
        time,
      );
    }
    assert.deepEqual(await place.sides(), { ...OLD, changed: "theirs on top\n" });
    assert.equal(
      (await bucket.versions(`${place.prefix}/`)).length,
      2,
      "what was there and theirs, nothing of ours",
    );
    assert.equal((await strategy.diff(ref)).changes.length, 2, "the work is in the sandbox again");
  });

  it("does not take for its own what another writer uploaded, though it is the same", async () => {
    await using place = await workshop();
    const { strategy, ref } = await sandboxIn(place);
    const transaction = { id: "landing", planId: "plan", direction: "commit" } as const;
    const prepared = await strategy.prepare(ref, transaction);
    assert.ok(prepared !== null);
    await bucket.upload(`${place.prefix}/page.html`, NEW.changed);
    const theirs = await bucket.versions(`${place.prefix}/`);
    await strategy.rollbackPrepared(ref, transaction, prepared);
    await strategy.rollbackPrepared(ref, transaction, prepared);
    assert.deepEqual([await bucket.versions(`${place.prefix}/`), await bucket.uploads()], [theirs, []]);
  });

  it("takes an undo back that a person gives up, also when the sandbox is gone, and can undo again", async () => {
    await using place = await workshop();
    const { strategy, ref, land } = await sandboxIn(place);
    const { transaction, prepared } = await land();
    await strategy.cleanup(ref);
    for (const id of ["first", "second"]) {
      const undoes = { id: transaction.id, prepared };
      const undo = { id, planId: ref.planId, direction: "undo", undoes } as const;
      const undone = await strategy.prepare(ref, undo);
      assert.ok(undone !== null);
      assert.deepEqual(await place.sides(), { ...NEW, folder: OLD.folder });
      await strategy.commitPrepared(ref, undo, undone);
      assert.deepEqual(await place.sides(), OLD);
      for (const time of ["once", "again"])
        assert.deepEqual(await strategy.rollbackPrepared(ref, undo, undone), [], `${id}, ${time}`);
      assert.deepEqual(await place.sides(), { ...NEW, folder: OLD.folder });
      assert.deepEqual(await bucket.uploads(), []);
    }
    await strategy.discardUndo?.(ref, transaction, prepared);
    assert.deepEqual(readdirSync(join(place.state, "s3-buckets")), []);
  });

  it("refuses a bucket that keeps no versions, and one that is not there, with the reason", async () => {
    await using place = await workshop();
    const plain = new S3Client(server, "unversioned");
    await plain.makeBucket({ versioned: false });
    const create = (location: string) =>
      place.drydock(["plan", "create", "-r", `${location},type=s3-bucket`]);
    assertRefused(
      create("s3://unversioned/site"),
      1,
      /bucket unversioned keeps no versions.*turn versioning on/,
    );
    assertRefused(create("s3://nowhere-at-all"), 1, /there is no bucket nowhere-at-all/);
  });

  /** A sandbox of the bucket alone, with work, and what lands it. */
  async function sandboxIn(place: BucketWorkshop) {
    const { S3BucketStrategy } = await import(example.at("s3-bucket-strategy.ts"));
    const strategy: TwoPhaseSandboxStrategy = new S3BucketStrategy(contextIn(place.state), {
      timeout_seconds: 30,
    });
    const resource = {
      id: "site",
      name: "site",
      type: "s3-bucket",
      location: place.location,
      properties: {},
    };
    const ref = await strategy.create("plan", resource);
    await strategy.write(ref, "page.html", Buffer.from(NEW.changed));
    await strategy.write(ref, "made/here.txt", Buffer.from(NEW.added));
    const land = async () => {
      const transaction = { id: "landing", planId: "plan", direction: "commit" } as const;
      const prepared = await strategy.prepare(ref, transaction);
      assert.ok(prepared !== null);
      await strategy.commitPrepared(ref, transaction, prepared);
      assert.deepEqual(await place.sides(), { ...NEW, folder: OLD.folder });
      return { transaction, prepared };
    };
    return { strategy, ref, land };
  }

  function taskOf(place: BucketWorkshop, method: string, plan: string) {
    return { stateDir: place.state, config: place.config, calls: [[method, plan]] as const };
  }

  /**
   * The points at which a crash is tried: of those that change the bucket the first pass and the last one; of
   * every other one of the strategy's own the last, unless a crash was tried there before.
   */
  async function pointsOf(method: "apply" | "undo"): Promise<readonly string[]> {
    await using place = await workshop();
    const plan = await arrange(place, method);
    const end = await runProcess(taskOf(place, method, plan), { trace: join(place.path, "trace") });
    assert.equal(end.code, 0, end.stderr);
    const passes = new Map<string, number>();
    for (const line of place.read("trace").split("\n").filter(Boolean)) {
      const name = line.slice("failpoint ".length);
      passes.set(name, (passes.get(name) ?? 0) + 1);
    }
    return [...passes].flatMap(([name, passed]) => {
      const every = Array.from({ length: passed }, (_, pass) => `${name}:${pass + 1}`);
      if (IS_LONG) return every;
      if (/^s3\.(?:complete-upload|delete-version)$/.test(name))
        return [...new Set([every.at(0), every.at(-1)])].filter((point) => point !== undefined);
      // The first record in the journal comes before the decision.
      if (name === "store.written") return every.slice(0, 1);
      if (!name.startsWith("s3.") || tried.has(name)) return [];
      tried.add(name);
      return tried.size % 2 === 1 ? every.slice(-1) : [];
    });
  }

  async function arrange(place: BucketWorkshop, method: "apply" | "undo"): Promise<string> {
    const drydock = await place.open();
    const plan = await place.plan(drydock);
    if (method === "undo") await drydock.plans.apply(plan);
    await drydock.close();
    return plan;
  }

  /** Kills an apply or undo there, recovers, and goes on. Returns what the recovery led to. */
  async function crashAt(method: "apply" | "undo", point: string): Promise<string> {
    await using place = await workshop();
    const plan = await arrange(place, method);
    const end = await runProcess(taskOf(place, method, plan), { failpoint: `${point}=kill` });
    assert.equal(end.signal, "SIGKILL", `${point}: ${end.stderr}`);
    const { recovery, plans } = await place.open();
    assert.deepEqual(recovery.pending, [], point);
    const sides = await place.sides();
    assert.ok(
      [OLD, NEW].some((each) => JSON.stringify(each) === JSON.stringify(sides)),
      `${point}: ${JSON.stringify(sides)}`,
    );
    assert.deepEqual(await bucket.uploads(), [], point);
    const { state } = await plans.show(plan);
    assert.equal(state === "applied", JSON.stringify(sides) === JSON.stringify(NEW), `${point}: ${state}`);
    if (state === "open") await plans.apply(plan);
    if (state !== "undone") await plans.undo(plan);
    assert.deepEqual([await place.sides(), await bucket.uploads()], [OLD, []], point);
    return JSON.stringify(sides);
  }
});
