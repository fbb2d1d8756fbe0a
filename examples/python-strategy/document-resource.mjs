import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** Makes an empty document for the conformance suite, which reads and writes it without the strategy. */
export function makeDocument() {
  const folder = mkdtempSync(join(tmpdir(), "document-"));
  const location = join(folder, "document.json");
  const entries = () => JSON.parse(readFileSync(location, "utf8"));
  writeFileSync(location, "{}");
  return {
    resource: { id: "document", name: "document", type: "json-document", location, properties: {} },
    kind: "object",
    content: {
      list: async () => Object.keys(entries()),
      read: async (path) => Buffer.from(entries()[path] ?? "", "latin1"),
      write: async (path, bytes) =>
        writeFileSync(
          location,
          JSON.stringify({ ...entries(), [path]: Buffer.from(bytes).toString("latin1") }),
        ),
    },
    dispose: () => rmSync(folder, { recursive: true }),
  };
}
