import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import openapiTS, { astToString, type OpenAPI3 } from "openapi-typescript";
import { openApiDocument } from "../src/serve/openapi.ts";
import { root } from "./step.ts";

// Writes schema/openapi.json, the document of the API, from the operations in src/serve/, and its types for
// clients in TypeScript. With --check it only says whether they are up to date.

const document = openApiDocument();
const wanted = {
  "schema/openapi.json": `${JSON.stringify(document, undefined, 2)}\n`,
  "schema/openapi.d.ts": astToString(await openapiTS(document as unknown as OpenAPI3)),
};

for (const [name, text] of Object.entries(wanted)) {
  const file = join(root, name);
  if (!process.argv.includes("--check")) {
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, text);
  } else if (present(file) !== text) {
    console.error(`${name} is stale: run 'npm run schema' and commit what it writes.`);
    process.exitCode = 1;
  }
}

function present(file: string): string | undefined {
  try {
    return readFileSync(file, "utf8");
  } catch (thrown) {
    if (thrown instanceof Error && "code" in thrown && thrown.code === "ENOENT") return undefined;
    throw thrown;
  }
}
