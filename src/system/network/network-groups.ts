/**
 * Sets of names that policies can allow by one word: what the usual tools of a registry, a forge or a model
 * need, by HTTPS. docs/agents.md lists them.
 */
export const NETWORK_GROUPS = {
  npm: ["registry.npmjs.org:443", "registry.yarnpkg.com:443"],
  pypi: ["pypi.org:443", "files.pythonhosted.org:443"],
  crates: ["crates.io:443", "index.crates.io:443", "static.crates.io:443"],
  go: ["proxy.golang.org:443", "sum.golang.org:443"],
  github: ["github.com:443", "api.github.com:443", "codeload.github.com:443", "*.githubusercontent.com:443"],
  anthropic: ["*.anthropic.com:443", "claude.ai:443", "platform.claude.com:443"],
  openai: ["api.openai.com:443", "auth.openai.com:443", "chatgpt.com:443"],
  gemini: [
    "generativelanguage.googleapis.com:443",
    "cloudcode-pa.googleapis.com:443",
    "oauth2.googleapis.com:443",
    "accounts.google.com:443",
  ],
} as const satisfies { readonly [name: string]: readonly string[] };

export type NetworkGroup = keyof typeof NETWORK_GROUPS;
