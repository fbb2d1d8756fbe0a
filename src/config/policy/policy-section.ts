import * as z from "zod";
import { messageOf } from "../../core/errors/errors.ts";
import { CACHE_SCOPES, NETWORK_MODES, PROFILE_NAMES } from "../../core/values/run-policy.ts";
import { parseNetworkRules } from "../../system/network/network-rule.ts";
import { parsePublishedPort } from "../../system/network/published-port.ts";
import { limitsSection } from "../limits-section.ts";
import { section } from "../schema-parts.ts";
import { SIZE_PATTERN } from "../size.ts";

/** The section `run`: what commands inside plans may read, keep and know. */

const VARIABLE_NAME = /^[A-Za-z_][A-Za-z0-9_]*$/;
const VARIABLE_PATTERN = /^[A-Za-z0-9_*]+$/;

const path = z
  .string("must be text")
  .min(1, "must be a path")
  .refine((text) => !text.includes("\0"), "must not hold a NUL character")
  .regex(/^(?:~$|~\/|\/)/, "must be a whole path, or begin with ~/");

const pathInHome = z
  .string("must be text")
  .regex(/^~(?:\/[^/]+)+$/, "must begin with ~/ and name something in your home")
  .refine((text) => !/\0|(?:^|\/)\.{1,2}(?:\/|$)/.test(text), "must not hold . or .., or a NUL character");

const variable = z
  .string("must be text")
  .regex(VARIABLE_PATTERN, "must be the name of a variable, with * for any letters");

const destination = z.string("must be text").superRefine((text, context) => {
  try {
    parseNetworkRules(text);
  } catch (thrown) {
    context.addIssue({ code: "custom", message: messageOf(thrown).replace(/^'.*?' |\.$/g, "") });
  }
});

const port = z.string("must be text: write it in quotes").superRefine((text, context) => {
  try {
    parsePublishedPort(text);
  } catch (thrown) {
    context.addIssue({ code: "custom", message: messageOf(thrown).replace(/^'.*?' |\.$/g, "") });
  }
});

function socket(what: string) {
  return z
    .boolean("must be true or false")
    .optional()
    .meta({ description: `May commands reach ${what}?`, examples: [true] });
}

function lines<Item extends z.ZodType<string>>(item: Item, description: string, example: readonly string[]) {
  return z
    .array(item, "must be a list")
    .refine((items) => new Set(items).size === items.length, "names something twice")
    .optional()
    .meta({ description, examples: [example] });
}

export function policySection() {
  const profile = z.enum(PROFILE_NAMES);
  return section({
    profile: z
      .union([profile, z.array(profile, "must be a list")])
      .optional()
      .meta({
        description:
          "Built-in policies that apply to every command, one or a list: claude, codex, gemini, opencode, goose, aider, node, python, rust, go. Without this key, that of the program that is started, if there is one; [] for none.",
        examples: ["claude"],
      }),
    read: section({
      deny: lines(path, "Files and folders that commands can't read: they look empty, or are missing.", [
        "~/.ssh",
      ]),
      allow: lines(path, "What commands can read in denied folders all the same.", ["~/.ssh/known_hosts"]),
    }).describe("What commands can read outside of the plan."),
    home: section({
      own: z
        .boolean("must be true or false")
        .optional()
        .meta({
          description:
            "Do commands get a home of the plan's own? It is empty but for what you keep, share or allow there.",
          examples: [true],
        }),
      persist: lines(path, "Folders of your home that commands change for good, at once.", ["~/.claude"]),
      write_back: lines(
        path,
        "Single files of your home that programs replace: the command's takes the place of yours when it has ended, unless yours has changed.",
        ["~/.claude.json"],
      ),
    }).describe("What commands keep of your home. All else that they write there goes with the plan."),
    cache: section({
      shared: lines(
        pathInHome,
        "Caches of your home that plans share: commands see a folder of Drydock's own there, and yours stays as it is.",
        ["~/.npm"],
      ),
      scope: z
        .enum(CACHE_SCOPES)
        .optional()
        .meta({
          description: "Which plans share them: all of yours (user, the default), or those of a project.",
          examples: ["project"],
        }),
      limit: z
        .string("must be a size")
        .regex(SIZE_PATTERN, "must be a size")
        .optional()
        .meta({
          description: "How much all shared caches may hold together: a number and k, m or g; default: 20g.",
          examples: ["50g"],
        }),
    }).describe("Caches that plans share, so that none downloads again what another one has."),
    write: section({
      protect: lines(
        z.string("must be text").min(1, "must be a pattern"),
        "What lands only with your word for that landing ([RESOURCE:]PATTERN, with * and **).",
        ["infra/**"],
      ),
    }).describe("What of the work of a plan needs a second yes."),
    limits: limitsSection(
      "The most that a command may use, with everything that it starts. The smallest of all configs counts.",
    ),
    sockets: section({
      ssh_agent: socket("your ssh-agent"),
      gpg_agent: socket("your gpg-agent"),
      docker: socket("Docker or Podman, and through it the whole machine"),
      wayland: socket("your screen, by Wayland"),
      paths: lines(path, "Other sockets that commands can reach.", ["/run/postgresql/.s.PGSQL.5432"]),
    }).describe(
      "Sockets of daemons in /run, and of agents, that commands can reach; all others there lead nowhere.",
    ),
    network: section({
      mode: z
        .enum(NETWORK_MODES)
        .optional()
        .meta({
          description:
            "What commands can reach: all that you can (open, the default), nothing (none), or what allow names (the default if that is there).",
          examples: ["none"],
        }),
      allow: lines(
        destination,
        "Names, addresses and groups that commands can reach, each with a port or with 80 and 443.",
        ["npm", "*.example.com", "10.0.0.5:5432"],
      ),
      databases: z
        .boolean("must be true or false")
        .optional()
        .meta({
          description:
            "Whether commands can reach the servers themselves of databases that their plan holds, past the plan (default: false).",
          examples: [true],
        }),
    })
      .refine(({ mode = "allow", allow }) => mode === "allow" || allow === undefined, {
        path: ["allow"],
        message: "counts only with the mode allow",
      })
      .describe("The network of commands."),
    ports: lines(
      port,
      "Ports of this machine that lead to servers of commands with a network of their own ([HOST:]PORT[:INSIDE], 0 for any port that is free).",
      ["0:3000"],
    ),
    channel: z
      .boolean("must be true or false")
      .optional()
      .meta({
        description:
          "Whether commands can look at their plan, save it and ask you for a review, by the socket that DRYDOCK_SOCKET names (default: true).",
        examples: [false],
      }),
    env: section({
      allow: lines(variable, "The variables that commands get, with * for any letters; default: all.", [
        "*",
        "GH_TOKEN",
      ]),
      deny: lines(variable, "Variables that commands do not get, with * for any letters.", ["AWS_*"]),
      set: z
        .record(
          z.string().regex(VARIABLE_NAME, "must be the name of a variable"),
          z.string("must be text: write it in quotes"),
          "must be a map of names",
        )
        .optional()
        .meta({ description: "Variables that commands get in any case.", examples: [{ IS_SANDBOX: "1" }] }),
    }).describe("The environment of commands."),
  }).describe(
    "What commands inside plans may read, keep and know. A project's config takes away from what your own allows (~/.config/drydock/config.yaml), and never adds to it.",
  );
}

/** The definition of the user's own config. */
export function userConfigSchema() {
  return z.strictObject({ run: policySection() }, "must be a map of keys and values");
}

export type PolicyValues = z.output<ReturnType<typeof policySection>>;
