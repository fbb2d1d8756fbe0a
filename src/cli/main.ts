import { runCommandLine } from "./command-line.ts";

// The process ends by itself when everything is written: ending it here could cut off what a slow reader has not taken yet.
process.exitCode = await runCommandLine();
