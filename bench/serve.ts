import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, writeFileSync } from "node:fs";
import { Agent, request } from "node:http";
import { join } from "node:path";
import { openDrydock } from "../src/index.ts";
import { answer, compare } from "./answer.ts";
import { buildProject } from "./build-project.ts";
import type { Times } from "./measure.ts";
import { home, withPrivateMounts } from "./places.ts";

/**
 * Does `drydock serve` stay responsive? 50 clients work at once, each on a plan of its own, in a state with
 * 1,000 open plans: they write a file, read it, and look at the plan and the diff. Beside it, the same
 * clients ask a bare hono that answers a short document. The times are of single requests; the last ones are
 * the slowest of a hundred.
 */
const [OPEN, CLIENTS, TURNS] = [1_000, 50, 10];

const BARE = `
  import { serve } from "@hono/node-server";
  import { Hono } from "hono";
  const app = new Hono();
  app.all("*", (c) => c.json({ state: "open" }));
  serve({ fetch: app.fetch, port: 0, hostname: "127.0.0.1" }, ({ port }) => console.log("http://127.0.0.1:" + port));
`;

withPrivateMounts();
const project = buildProject();
const stateDir = join(home, "state");
await openPlans();
const ours = await timed(
  spawn(join(project, "bin/drydock"), ["serve", "--state-dir", stateDir], {
    stdio: ["ignore", "pipe", "inherit"],
  }),
  { socketPath: join(stateDir, "serve/api.sock") },
);
const bare = await timed(
  spawn(process.execPath, ["--input-type=module", "-e", BARE], {
    ...{ cwd: join(import.meta.dirname, ".."), stdio: ["ignore", "pipe", "inherit"] },
  }),
);
console.error(`requests per second: ${perSecond(ours)} of drydock serve, ${perSecond(bare)} of a bare hono`);
answer([
  compare("drydock serve, 50 plans at once", ours.times, "a bare hono", bare.times, undefined),
  compare("the same, 99th percentile", slowest(ours.times), "a bare hono", slowest(bare.times), undefined),
]);

interface Measured {
  readonly times: Times;
  readonly seconds: number;
}

async function openPlans(): Promise<void> {
  await using drydock = await openDrydock({ stateDir });
  for (let index = 0; index < OPEN; index += 1) {
    const folder = join(home, "folders", String(index));
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, "file"), `${index}\n`);
    const resources = [{ location: folder, strategy: "filesystem_copy" }];
    await drydock.plans.create({ name: `plan${index}`, resources });
  }
}

/** Times the requests of all clients against a server, which says when it is ready. */
async function timed(server: ChildProcess, at?: { readonly socketPath: string }): Promise<Measured> {
  try {
    if (server.stdout === null) throw new Error("it says nothing");
    const [ready] = await once(server.stdout, "data");
    const agent = new Agent({ keepAlive: true });
    const place = at ?? { port: Number(new URL(String(ready).trim()).port) };
    const times: number[] = [];
    const send = async (method: string, path: string, body?: string) => {
      const start = performance.now();
      const outgoing = request({ ...place, agent, method, path, headers: { host: "localhost" } });
      outgoing.end(body);
      const [incoming] = await once(outgoing, "response");
      for await (const _ of incoming);
      if (incoming.statusCode !== 200) throw new Error(`${method} ${path}: ${incoming.statusCode}`);
      times.push(performance.now() - start);
    };
    const client = async (_: unknown, index: number) => {
      const plan = `/v1/plans/plan${index}`;
      for (let turn = 0; turn < TURNS; turn += 1) {
        await send("PUT", `${plan}/file?path=new`, `${turn}\n`);
        await send("GET", `${plan}/file?path=new`);
        await send("GET", plan);
        await send("GET", `${plan}/diff`);
      }
    };
    const start = performance.now();
    await Promise.all(Array.from({ length: CLIENTS }, client));
    const seconds = (performance.now() - start) / 1000;
    agent.destroy();
    return { times: times.toSorted((a, b) => a - b), seconds };
  } finally {
    server.kill();
    await once(server, "exit");
  }
}

function perSecond({ times, seconds }: Measured): number {
  return Math.round(times.length / seconds);
}

function slowest(times: Times): Times {
  return times.slice(Math.floor(times.length * 0.99));
}
