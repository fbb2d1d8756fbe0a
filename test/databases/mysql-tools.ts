import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import mysql from "mysql2/promise";
import type { TestServer } from "../support/database-servers.ts";
import { HeldScene } from "./held-scene.ts";
import { keyIn } from "./raw-mysql-client.ts";

export type MysqlTools = ReturnType<typeof mysqlTools>;

/** Clients of MariaDB, at a plan or at the server itself. */
export function mysqlTools(server: () => TestServer) {
  function socketOf(url: string): string {
    return new URLSearchParams(url.split("?")[1]).get("socket") ?? "";
  }

  function isPlan(url: string): boolean {
    return url.includes("localhost:1/");
  }

  /** Runs a program of MariaDB, at a plan or, as the administrator, at the server. */
  function program(name: string, url: string, more: readonly string[], input = "") {
    const socket = isPlan(url) ? socketOf(url) : socketOf(server().url());
    const args = ["--no-defaults", "-S", socket, "-u", isPlan(url) ? "anyone" : "root", ...more];
    const env = { ...process.env, MYSQL_PWD: isPlan(url) ? keyIn(url) : "" };
    const { status, stdout, stderr } = spawnSync(name, args, { input, env, encoding: "utf8" });
    return { status, stdout, stderr };
  }

  function mariadb(url: string, script: string, ...options: readonly string[]) {
    return program("mariadb", url, [...options, "--default-character-set=utf8mb4"], script);
  }

  /** Everything in a database, but for what differs between two dumps of the same. */
  function dump(url: string, database: string, ...tables: readonly string[]): string {
    const quiet = ["--single-transaction", "--skip-comments", "--skip-dump-date"];
    const { status, stdout, stderr } = program("mariadb-dump", url, [...quiet, database, ...tables]);
    assert.equal(status, 0, stderr);
    return stdout.replaceAll(/ AUTO_INCREMENT=\d+/g, "");
  }

  async function open(): Promise<{ readonly scene: HeldScene; readonly url: string } & AsyncDisposable> {
    const scene = await HeldScene.make(server());
    await scene.plan();
    const url = await scene.with(({ plans }) => plans.path("p", "db"));
    const dispose = async () => {
      await scene[Symbol.asyncDispose]();
      await scene.rival("DROP TABLE T");
    };
    return { scene, url, [Symbol.asyncDispose]: dispose };
  }

  async function connect(
    url: string,
    options: mysql.ConnectionOptions = {},
  ): Promise<mysql.Connection & AsyncDisposable> {
    const login = { user: isPlan(url) ? "anyone" : "root", password: isPlan(url) ? keyIn(url) : "" };
    const client = await mysql.createConnection({
      ...{ socketPath: socketOf(url), database: "app", ...login },
      ...options,
    });
    // The end of a connection is what some tests are about.
    client.on("error", () => undefined);
    return Object.assign(client, { [Symbol.asyncDispose]: async () => client.destroy() });
  }

  async function rows(client: mysql.Connection, sql: string, values: string[] = []): Promise<unknown[][]> {
    const [found] = await client.query({ sql, rowsAsArray: true }, values);
    return found as unknown as unknown[][];
  }

  async function apply(scene: HeldScene): Promise<void> {
    await scene.with(({ plans }) => plans.apply("p"));
  }

  return { socketOf, mariadb, dump, open, connect, rows, apply };
}
