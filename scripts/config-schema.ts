import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { fileURLToPath } from "node:url";
import { configJsonSchema } from "../src/config/json-schema.ts";

// Writes schema/drydock.schema.json from the definition in src/config/schema.ts. With --check it only says
// whether it is up to date.

const file = fileURLToPath(new URL("../schema/drydock.schema.json", import.meta.url));
const wanted = `${JSON.stringify(configJsonSchema(), undefined, 2)}\n`;

if (!process.argv.includes("--check")) {
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, wanted);
} else if (present() !== wanted) {
  console.error(
    "schema/drydock.schema.json is stale: run scripts/config-schema.ts and commit what it writes.",
  );
  process.exitCode = 1;
}

function present(): string | undefined {
  try {
    return readFileSync(file, "utf8");
  } catch (thrown) {
    if (thrown instanceof Error && "code" in thrown && thrown.code === "ENOENT") return undefined;
    throw thrown;
  }
}
