import type { Command } from "commander";
import type { CommandContext } from "../command-context.ts";

/** `drydock version` */
export function define(command: Command, context: CommandContext): void {
  command.action(async () => {
    const answer = { version: await version() };
    context.result(answer, () => [answer.version]);
  });
}

/** The version of this Drydock. */
export async function version(): Promise<string> {
  return (await packageManifest()).version;
}

/** The name under which this Drydock is published, and its version. */
export async function packageManifest(): Promise<{ readonly name: string; readonly version: string }> {
  const { default: manifest } = await import("../../../package.json", { with: { type: "json" } });
  return manifest;
}
