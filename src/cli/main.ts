import { runCommandLine } from "./command-line.ts";

process.exitCode = await runCommandLine();
