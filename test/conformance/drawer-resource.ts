import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { ContentFixture } from "drydock-sandbox/testing";
import type { Drawer } from "./drawer.ts";

/** A new, empty drawer. */
export function makeDrawer(): ContentFixture {
  const folder = mkdtempSync(join(tmpdir(), "drydock-drawer-"));
  const file = join(folder, "drawer.json");
  const load = () => JSON.parse(readFileSync(file, "utf8")) as Drawer;
  writeFileSync(file, "{}");
  return {
    resource: { id: "resource", name: "resource", type: "drawer", location: file, properties: {} },
    kind: "object",
    content: {
      list: async () => Object.keys(load()),
      read: async (path) => Buffer.from(load()[path] ?? "", "base64"),
      write: async (path, bytes) =>
        writeFileSync(file, JSON.stringify({ ...load(), [path]: Buffer.from(bytes).toString("base64") })),
    },
    dispose: () => rmSync(folder, { recursive: true, force: true }),
  };
}
