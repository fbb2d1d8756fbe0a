import assert from "node:assert/strict";
import { join } from "node:path";
import { describe, it } from "node:test";
import { projectRoot, runProgram, TemporaryFolder } from "../project/project-copy.ts";
import { installPackage, OPENCODE_VERSION } from "./npm-tool.ts";

const PROGRAM = `import type { Plugin, WorkspaceAdapter } from "@opencode-ai/plugin";
import { drydockWorkspaces, type WorkspaceAdapter as Ours } from "drydock-sandbox/opencode";
export const plugin: Plugin = drydockWorkspaces;
export const adapter: (ours: Ours) => WorkspaceAdapter = (ours) => ours;
`;

describe("the workspaces of opencode and its own types", () => {
  it("[P12] fit together", () => {
    using folder = new TemporaryFolder();
    installPackage(folder.path, `@opencode-ai/plugin@${OPENCODE_VERSION}`);
    folder.write("program.ts", PROGRAM);
    const tsc = join(projectRoot, "node_modules/typescript-7/bin/tsc");
    const paths = { "drydock-sandbox/opencode": [join(projectRoot, "src/adapters/opencode.ts")] };
    const compilerOptions = {
      ...{ noEmit: true, strict: true, skipLibCheck: true, module: "nodenext", target: "esnext", paths },
      ...{ allowImportingTsExtensions: true, types: ["node"] },
      typeRoots: [join(projectRoot, "node_modules/@types")],
    };
    folder.write("tsconfig.json", JSON.stringify({ compilerOptions, files: ["program.ts"] }));
    const checked = runProgram(process.execPath, [tsc, "-p", folder.path]);
    assert.equal(checked.status, 0, checked.stdout);
  });
});
