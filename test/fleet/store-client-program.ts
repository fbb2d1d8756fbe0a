import { once } from "node:events";
import { splitSecret } from "../../src/core/resource/secret-url.ts";
import { PostgresSession } from "../../src/fleet/store/postgres-session.ts";
import { openPostgresStore } from "../../src/fleet/store/postgres-store.ts";

/**
 * A process of a host that uses the fleet's database: `write` adds numbered entries to the history until its
 * input ends, and says the last number; `hold` changes a row in a transaction that it never ends.
 */
const [what, url = "", patience = ""] = process.argv.slice(2);
const { location, secret } = splitSecret(url);
const login = { location, secret, patienceMs: Number(patience) };

if (what === "write") await write();
else await hold();

async function write(): Promise<void> {
  const store = await openPostgresStore(login);
  let isOver = false;
  process.stdin.resume().once("end", () => {
    isOver = true;
  });
  let number = 0;
  try {
    while (!isOver) {
      const details = { number: number + 1 };
      const entry = { planId: "P", at: "2026-01-01T00:00:00.000Z", actor: "me", event: "e", details };
      await store.write([{ put: "history", record: entry }], "durable");
      number += 1;
      if (number === 1) console.log("writing");
    }
    console.log(number);
  } catch (error) {
    console.log(`${number} ${(error as { code?: string }).code}`);
  }
  store.close();
}

async function hold(): Promise<void> {
  const session = new PostgresSession(login, async () => undefined);
  await session.run("BEGIN; UPDATE plans SET name = name");
  console.log("holding");
  await once(process.stdin.resume(), "end");
  session.close();
}
