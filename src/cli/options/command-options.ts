import { resolve } from "node:path";
import { type Command, Option } from "commander";
import { parseDuration } from "../../config/duration.ts";
import { UsageError } from "../../core/errors/errors.ts";
import { displayPath } from "../../core/paths/byte-path.ts";
import type { Limits } from "../../core/values/limits.ts";
import { PROFILE_NAMES, type ProfileName } from "../../core/values/run-policy.ts";
import type { ExecRequest } from "../../run/exec.ts";
import type { NetworkWish } from "../../run/policy/network-policy.ts";
import { parseNetworkRules } from "../../system/network/network-rule.ts";
import { parsePublishedPort } from "../../system/network/published-port.ts";
import type { CommandContext } from "../command-context.ts";
import { unescapePath } from "./escaped-path.ts";
import { addLimitOption } from "./limit-option.ts";

/** The options of a command inside a plan: of `run`, `shell` and `plan exec`. */
export interface CommandOptions {
  readonly directory?: string;
  readonly env?: readonly string[];
  readonly timeout?: number;
  readonly network?: NetworkWish | false;
  readonly publish?: readonly string[];
  readonly strict?: boolean;
  readonly unconfined?: boolean;
  readonly limit?: Limits;
  readonly profile?: readonly (ProfileName | "none")[];
  readonly quiet?: boolean;
}

/** Adds these options to a command. */
export function addCommandOptions(command: Command, directory: string): Command {
  command
    .addOption(new Option("-C, --directory <dir>", directory).argParser(unescapePath))
    .option(
      "--env <name[=value]>",
      "a variable for the command, with this value or the one that it has here, repeatable",
      (given: string, before: readonly string[] | undefined) => [...(before ?? []), given],
    )
    .option("--timeout <duration>", "how long the command may run: 90s, 30m or 12h", parseDuration)
    .option(
      "--network <open|none|allow[=name,…]>",
      "what the command can reach: all that you can, nothing, or these names, addresses and groups",
      parseNetwork,
    )
    .option("--no-network", "the same as --network none")
    .option(
      "--publish <[host:]port[:inside]>",
      "a port here that leads to a server of the command, if it has a network of its own, repeatable",
      parsePublish,
    )
    .option("--strict", "only the resources are writable, and daemons can't be reached")
    .option("--unconfined", "run it without walls where this machine has none to offer")
    .addOption(
      new Option(
        "--profile <name>",
        "a built-in policy, repeatable; default: that of the program, if it has one",
      )
        .choices([...PROFILE_NAMES, "none"])
        .argParser(parseProfile),
    )
    .option("-q, --quiet", "say only what needs attention");
  return addLimitOption(command);
}

/** The part of a request that these options make. */
export type RequestOptions = Required<
  Pick<
    ExecRequest,
    "network" | "publish" | "strict" | "unconfined" | "limits" | "profiles" | "stdout" | "environment"
  >
>;

/** What these options say about a command. */
export function commandRequest(context: CommandContext, options: CommandOptions): RequestOptions {
  const { network, publish = [], strict = false, unconfined = false, limit = {}, timeout } = options;
  return {
    ...{ network: network ?? true, publish, strict, unconfined },
    limits: timeout === undefined ? limit : { ...limit, time: timeout },
    profiles: options.profile?.filter((name) => name !== "none") ?? "automatic",
    stdout: context.options.json ? "stderr" : "inherit",
    environment: variables(options.env ?? [], context.environment),
  };
}

function parseNetwork(text: string): NetworkWish {
  if (text === "open" || text === "none") return text;
  const said = /^allow(?:=(.+))?$/s.exec(text);
  if (said === null)
    throw new UsageError(`'${displayPath(text)}' says nothing about the network.`, {
      hint: "Write --network open, --network none, or --network allow=npm,example.com",
    });
  const allow = said[1]?.split(",") ?? [];
  for (const line of allow) parseNetworkRules(line);
  return { allow };
}

function parsePublish(text: string, before: readonly string[] = []): readonly string[] {
  parsePublishedPort(text);
  return [...before, text];
}

function parseProfile(
  text: string,
  before: readonly (ProfileName | "none")[] = [],
): readonly (ProfileName | "none")[] {
  const known = [...PROFILE_NAMES, "none" as const];
  const name = known.find((each) => each === text);
  if (name === undefined)
    throw new UsageError(`There is no profile '${displayPath(text)}'.`, {
      hint: `Profiles are ${known.join(", ")}.`,
    });
  return [...before, name];
}

/** The folder that `-C` names. */
export function givenFolder(context: CommandContext, { directory }: CommandOptions): string | undefined {
  return directory === undefined ? undefined : resolve(context.cwd, directory);
}

function variables(
  given: readonly string[],
  inherited: CommandContext["environment"],
): { readonly [name: string]: string } {
  return Object.fromEntries(
    given.map((text) => {
      const equals = text.indexOf("=");
      const name = equals < 0 ? text : text.slice(0, equals);
      const value = equals < 0 ? inherited[name] : text.slice(equals + 1);
      if (name === "") throw noVariable(text, "has no name");
      if (value === undefined) throw noVariable(text, "is not set here");
      return [name, value];
    }),
  );
}

function noVariable(text: string, why: string): UsageError {
  return new UsageError(`The variable '${displayPath(text)}' ${why}.`, {
    hint: "Write --env NAME=VALUE, or --env NAME for one that is set.",
  });
}
