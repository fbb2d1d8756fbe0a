import type { PolicyLayer, PolicyLine, ProfileName } from "../../core/values/run-policy.ts";
import type { NetworkGroup } from "../../system/network/network-groups.ts";

/**
 * What is built in for each agent: it keeps its own state, its login included, shares the caches of tools
 * with other plans, and can't read credentials of other tools. docs/agents.md lists it.
 */
interface Profile {
  /** The programs that it belongs to. */
  readonly programs: readonly string[];
  /** Where the agent keeps its state. */
  readonly persist: readonly string[];
  /** Single files of it, which the agent replaces. */
  readonly writeBack?: readonly string[];
  /** The groups of what the agent must reach: system/network/network-groups.ts. */
  readonly needs: readonly NetworkGroup[];
  /** Variables that the agent itself logs in with. */
  readonly keys: readonly string[];
  readonly set?: { readonly [name: string]: string };
}

/** What is built in for a family of tools: they share their caches with other plans. */
interface ToolProfile {
  readonly programs: readonly string[];
  readonly needs: readonly NetworkGroup[];
  readonly caches: readonly string[];
}

const TOOLS: { readonly [name in "node" | "python" | "rust" | "go"]: ToolProfile } = {
  node: {
    programs: ["node", "npm", "npx", "pnpm", "pnpx", "yarn", "corepack"],
    needs: ["npm"],
    caches: [
      "~/.npm",
      "~/.cache/pnpm",
      "~/.local/share/pnpm/store",
      "~/.cache/yarn",
      "~/.yarn/berry",
      "~/.cache/node",
      "~/.cache/node-gyp",
    ],
  },
  python: {
    programs: ["python", "python3", "pip", "pip3", "uv", "uvx", "pipx", "poetry"],
    needs: ["pypi"],
    caches: ["~/.cache/pip", "~/.cache/uv", "~/.cache/pypoetry"],
  },
  rust: { programs: ["cargo", "rustc"], needs: ["crates"], caches: ["~/.cargo/registry", "~/.cargo/git"] },
  go: { programs: ["go"], needs: ["go"], caches: ["~/go/pkg/mod", "~/.cache/go-build"] },
};

/** For agents that work with any model. */
const MODELS: readonly NetworkGroup[] = ["anthropic", "openai", "gemini"];

const AGENTS: { readonly [name in Exclude<ProfileName, keyof typeof TOOLS>]: Profile } = {
  claude: {
    programs: ["claude"],
    persist: ["~/.claude"],
    writeBack: ["~/.claude.json"],
    needs: ["anthropic"],
    keys: ["ANTHROPIC_*", "CLAUDE_*"],
    // As root it refuses to work unattended without the first; the second keeps its program as it is.
    set: { IS_SANDBOX: "1", DISABLE_AUTOUPDATER: "1" },
  },
  codex: { programs: ["codex"], persist: ["~/.codex"], needs: ["openai"], keys: ["OPENAI_*", "CODEX_*"] },
  gemini: {
    programs: ["gemini"],
    persist: ["~/.gemini"],
    needs: ["gemini"],
    keys: ["GEMINI_*", "GOOGLE_API_KEY"],
  },
  opencode: {
    programs: ["opencode"],
    persist: ["~/.local/share/opencode", "~/.local/state/opencode", "~/.config/opencode"],
    needs: MODELS,
    keys: ["OPENCODE_*", "ANTHROPIC_*", "OPENAI_*", "GEMINI_*"],
  },
  goose: {
    programs: ["goose"],
    persist: ["~/.local/share/goose", "~/.local/state/goose", "~/.config/goose"],
    needs: MODELS,
    keys: ["GOOSE_*", "ANTHROPIC_*", "OPENAI_*", "GOOGLE_API_KEY"],
  },
  aider: {
    programs: ["aider"],
    persist: ["~/.aider"],
    needs: MODELS,
    keys: ["AIDER_*", "ANTHROPIC_*", "OPENAI_*", "GEMINI_*"],
  },
};

/** Files of the usual tools that open other systems, and records of what the user did. */
const CREDENTIALS: readonly string[] = [
  "~/.ssh",
  "~/.gnupg",
  "~/.password-store",
  "~/.local/share/keyrings",
  "~/.local/share/kwalletd",
  "~/.netrc",
  "~/.git-credentials",
  "~/.config/git/credentials",
  "~/.config/gh",
  "~/.config/hub",
  "~/.config/glab-cli",
  "~/.npmrc",
  "~/.yarnrc.yml",
  "~/.pypirc",
  "~/.gem/credentials",
  "~/.cargo/credentials",
  "~/.cargo/credentials.toml",
  "~/.m2/settings.xml",
  "~/.gradle/gradle.properties",
  "~/.nuget/NuGet",
  "~/.aws",
  "~/.azure",
  "~/.config/gcloud",
  "~/.config/doctl",
  "~/.config/hcloud",
  "~/.oci",
  "~/.kube",
  "~/.docker",
  "~/.config/containers/auth.json",
  "~/.config/helm",
  "~/.terraform.d",
  "~/.terraformrc",
  "~/.vault-token",
  "~/.config/op",
  "~/.config/rclone",
  "~/.pgpass",
  "~/.my.cnf",
  "~/.mylogin.cnf",
  "~/.mozilla",
  "~/.config/google-chrome",
  "~/.config/chromium",
  "~/.config/BraveSoftware",
  "~/.config/microsoft-edge",
  "~/.config/Signal",
  "~/.thunderbird",
  "~/.bash_history",
  "~/.zsh_history",
  "~/.python_history",
  "~/.psql_history",
  "~/.mysql_history",
  "~/.sqlite_history",
];

/** What git over ssh needs, and is no secret. */
const NOT_SECRET: readonly string[] = ["~/.ssh/known_hosts", "~/.ssh/config"];

/** Variables that open other systems. */
const SECRET_VARIABLES: readonly string[] = [
  "*_TOKEN",
  "*_SECRET",
  "*_SECRET_*",
  "*_PASSWORD",
  "*_PASSWD",
  "*_PRIVATE_KEY",
  "*_API_KEY",
  "*_ACCESS_KEY",
  "*_CREDENTIALS",
  "AWS_*",
  "AZURE_*",
  "DATABASE_URL",
  "DOCKER_AUTH_CONFIG",
  "GPG_AGENT_INFO",
  "KUBECONFIG",
  "PGPASSWORD",
  "SSH_AUTH_SOCK",
];

/** The profile of a program, by the name that the user types. */
export function profileOf(program: string | undefined): ProfileName | undefined {
  const all = Object.entries<Pick<Profile, "programs">>({ ...AGENTS, ...TOOLS });
  const found = all.find(([, { programs }]) => programs.includes(program ?? ""));
  return found?.[0] as ProfileName | undefined;
}

/** What a profile says, as the word of `owner`. */
export function profileLayer(name: ProfileName, owner: PolicyLayer["owner"]): PolicyLayer {
  const from = `the profile ${name}`;
  const lines = (values: readonly string[]): readonly PolicyLine[] =>
    values.map((value) => ({ value, from }));
  const nothing = { owner, read: { deny: [] }, sockets: { allow: [], deny: [] } };
  if (isTool(name))
    return {
      ...nothing,
      caches: lines(TOOLS[name].caches),
      needs: lines(TOOLS[name].needs),
      variables: { deny: [], set: [] },
    };
  const { persist, writeBack = [], needs, keys, set = {} } = AGENTS[name];
  return {
    ...nothing,
    read: { deny: lines(CREDENTIALS), allow: lines(NOT_SECRET) },
    persist: lines(persist),
    writeBack: lines(writeBack),
    caches: lines(Object.values(TOOLS).flatMap(({ caches }) => caches)),
    needs: lines(needs),
    variables: {
      deny: lines(SECRET_VARIABLES),
      allow: lines(["*", ...keys.flatMap(alsoAsSecret)]),
      set: Object.entries(set).map(([variable, value]) => ({ name: variable, value, from })),
    },
  };
}

/**
 * What an agent logs in with it gets, also by a name that looks like a secret: `OPENAI_*API_KEY` counts more
 * than `*_API_KEY`, and `OPENAI_*` does not (variable-rules.ts).
 */
function alsoAsSecret(key: string): readonly string[] {
  if (!key.endsWith("_*")) return [key];
  const looks = SECRET_VARIABLES.filter((pattern) => pattern.startsWith("*_"));
  return [key, ...looks.map((pattern) => `${key}${pattern.slice("*_".length)}`)];
}

function isTool(name: ProfileName): name is keyof typeof TOOLS {
  return name in TOOLS;
}
