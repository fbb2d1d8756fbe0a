import assert from "node:assert/strict";
import { request } from "node:http";
import { after, before, describe, it } from "node:test";
import type { Browser } from "playwright-core";
import { Workplace } from "../end-to-end/workplace.ts";
import { NO_BROWSER, Reviewed, startBrowser } from "./browser.ts";

/** A Workplace with one plan, which changes one file. */
function placeWithPlan(): Workplace {
  const place = new Workplace();
  const folder = place.folder("shop", { "prices.txt": "tea: 3\n" });
  place.done("plan", "create", "-r", folder, "--name", "raise");
  place.shell('printf "tea: 4\\n" | "$DRYDOCK" plan write raise shop prices.txt');
  return place;
}

interface Answer {
  readonly status: number;
  readonly headers: NodeJS.Dict<string | string[]>;
  readonly text: string;
}

/** A request as any process of the machine can send it. */
async function ask(
  origin: string,
  path: string,
  {
    method = "GET",
    headers = {},
    body,
  }: { method?: string; headers?: { [name: string]: string }; body?: object } = {},
): Promise<Answer> {
  const { port } = new URL(origin);
  const answer = Promise.withResolvers<Answer>();
  const type = body === undefined ? {} : { "content-type": "application/json" };
  const outgoing = request(
    { host: "127.0.0.1", port, path, method, headers: { host: `127.0.0.1:${port}`, ...type, ...headers } },
    (incoming) => {
      const pieces: Buffer[] = [];
      incoming.on("data", (piece: Buffer) => pieces.push(piece));
      incoming.on("end", () =>
        answer.resolve({
          status: incoming.statusCode ?? 0,
          headers: incoming.headers,
          text: Buffer.concat(pieces).toString(),
        }),
      );
    },
  );
  outgoing.on("error", answer.reject);
  outgoing.end(body === undefined ? undefined : JSON.stringify(body));
  return await answer.promise;
}

const tokenOf = (reviewed: Reviewed) => new URL(reviewed.url).hash.replace("#token=", "");

describe("the door of a review", { skip: NO_BROWSER }, () => {
  let browser: Browser;
  before(async () => {
    browser = await startBrowser();
  });
  after(async () => await browser.close());

  it("[V13] lets in one browser, by a token that works once, and nobody else of this machine", async () => {
    using place = placeWithPlan();
    await using reviewed = await Reviewed.start(browser, place, ["raise"]);
    const { origin } = reviewed;
    for (const path of [
      "/v1/plans",
      "/v1/openapi.json",
      "/session",
      "/v1/events",
      "/nowhere",
      "/v1/plans/raise/diff",
    ])
      assert.equal((await ask(origin, path)).status, 401, path);
    for (const path of ["/decide", "/leave", "/v1/plans/raise/apply"])
      assert.equal((await ask(origin, path, { method: "POST", body: {} })).status, 401, path);
    const exchange = (token: string) => ask(origin, "/session", { method: "POST", body: { token } });
    for (const token of ["", "x", `${tokenOf(reviewed)}x`, tokenOf(reviewed).slice(1)])
      assert.equal((await exchange(token)).status, 403, token);
    const page = await reviewed.open();
    await page.getByRole("treeitem", { name: /prices\.txt/ }).waitFor();
    assert.equal(new URL(page.url()).hash.includes("token"), false);
    const again = await exchange(tokenOf(reviewed));
    assert.equal(again.status, 403);
    assert.equal(JSON.parse(again.text).code, "TOKEN_USED");
    await using other = {
      context: await browser.newContext(),
      [Symbol.asyncDispose]: () => other.context.close(),
    };
    const stranger = await other.context.newPage();
    await stranger.goto(reviewed.url);
    await stranger.getByText("The address was used before").waitFor();
    assert.equal(await stranger.getByRole("treeitem").count(), 0);
    assert.deepEqual(reviewed.complaints, []);
  });

  it("[V13] wants the cookie and the key: a server at another port of this machine gets only the cookie", async () => {
    using place = placeWithPlan();
    await using reviewed = await Reviewed.start(browser, place, ["raise"]);
    const page = await reviewed.open();
    await page.getByRole("treeitem", { name: /prices\.txt/ }).waitFor();
    const [cookie] = await reviewed.context.cookies();
    assert.deepEqual(
      [cookie?.httpOnly, cookie?.sameSite, cookie?.name],
      [true, "Strict", `drydock_${new URL(reviewed.origin).port}`],
    );
    const key = (await page.evaluate("localStorage.getItem('drydock-key')")) as string;
    const sent = { cookie: `a=b; ${cookie?.name}=${cookie?.value}` };
    const status = async (headers: { [name: string]: string }) =>
      (await ask(reviewed.origin, "/v1/plans", { headers })).status;
    assert.equal(await status({ ...sent, "x-drydock-key": key }), 200);
    assert.equal(await status(sent), 401);
    assert.equal(await status({ "x-drydock-key": key }), 401);
    assert.equal(await status({ ...sent, "x-drydock-key": `${key}x` }), 401);
    const whole = { ...sent, "x-drydock-key": key };
    assert.equal(await status({ ...whole, host: "evil.example" }), 403);
    assert.equal(await status({ ...whole, origin: "http://evil.example" }), 403);
    assert.equal(await status({ ...whole, origin: "http://127.0.0.1:1" }), 403);
    const run = await ask(reviewed.origin, "/v1/plans/raise/exec", {
      method: "POST",
      headers: whole,
      body: {},
    });
    assert.equal(run.status, 404, "the page runs no commands");
    const check = { method: "POST", headers: whole, body: { check: ["true"] } };
    assert.equal((await ask(reviewed.origin, "/v1/plans/raise/apply", check)).status, 400, "nor as checks");
  });

  it("says in every answer, also in refusals, that nothing may come from elsewhere or be kept", async () => {
    using place = placeWithPlan();
    await using reviewed = await Reviewed.start(browser, place, ["raise"]);
    for (const [path, status] of [
      ["/", 200],
      ["/page/main.js", 200],
      ["/page/../../package.json", 404],
      ["/page/..%2F..%2Fpackage.json", 404],
      ["/v1/plans", 401],
    ] as const) {
      const answer = await ask(reviewed.origin, path);
      assert.ok([status, 401].includes(answer.status), `${path} ${answer.status}`);
      const policy = String(answer.headers["content-security-policy"]);
      assert.match(policy, /default-src 'none'.*script-src 'self'.*frame-ancestors 'none'/);
      assert.doesNotMatch(policy, /unsafe|\*|https?:/);
      assert.equal(answer.headers["cache-control"], "no-store");
      assert.equal(answer.headers["x-content-type-options"], "nosniff");
      assert.equal(answer.headers["referrer-policy"], "no-referrer");
    }
  });
});
