/**
 * Files that tools run, or take commands from, by themselves: when a folder is entered or opened, at the next
 * ordinary use of the tool, at a login. The user never starts such a file, so no plan may land one unseen.
 * Files that the user starts (a Makefile, a script of package.json, a test) are not here: they are the
 * project's code, and are reviewed as such.
 *
 * A pattern matches at any depth. `*` is any run of characters within a name, `**` any number of names,
 * `{a,b}` one of these. A pattern matches files, never folders, because the files in a folder are changes of
 * their own. Comparison ignores case, as some file systems do.
 */
export interface SelfRunningRule {
  /** What runs it. */
  readonly tool: string;
  /** Completes the sentence "TOOL …". */
  readonly why: string;
  readonly patterns: readonly string[];
  /** Patterns of files that the rule does not match. */
  readonly except?: readonly string[];
  /**
   * The rule also applies below a folder of packages (`node_modules`). Users do not open those as projects,
   * and hardly ever enter them.
   */
  readonly inPackages?: true;
}

/** A file that a tool runs, or takes commands from, by itself. */
export interface SelfRunningFile {
  /** The resource's name; filled in by the commit, which knows it. */
  readonly resource?: string;
  /** Relative to the resource. */
  readonly path: string;
  /** What runs it: "git", "VS Code". */
  readonly tool: string;
  /** Completes the sentence "TOOL …". */
  readonly why: string;
}

const AGENT_PARTS = "{agents,commands,hooks,plugin,plugins,rules,skills,tools}";

export const SELF_RUNNING_RULES: readonly SelfRunningRule[] = [
  {
    tool: "git",
    why: "runs its hooks at commit, checkout, merge and push",
    inPackages: true,
    patterns: ["*.git/hooks/**", "*.git/{modules,worktrees}/**/hooks/**", ".githooks/**", ".git-hooks/**"],
    except: ["hooks/*.sample"],
  },
  {
    tool: "git",
    why: "runs hooks of these names in a bare repository, and where core.hooksPath leads",
    inPackages: true,
    patterns: [
      "hooks/{applypatch-msg,pre-applypatch,post-applypatch,pre-commit,pre-merge-commit,prepare-commit-msg,commit-msg}",
      "hooks/{post-commit,pre-rebase,post-checkout,post-merge,pre-push,pre-receive,update,proc-receive,post-receive}",
      "hooks/{post-update,reference-transaction,push-to-checkout,pre-auto-gc,post-rewrite,sendemail-validate}",
      "hooks/{fsmonitor-watchman,post-index-change}",
    ],
  },
  {
    tool: "git",
    why: "runs programs that its settings name, such as core.fsmonitor, even for a prompt",
    inPackages: true,
    patterns: [
      "*.git/{config,config.worktree}",
      "*.git/{modules,worktrees}/**/{config,config.worktree}",
      ".gitconfig",
      ".config/git/config",
    ],
  },
  {
    tool: "git",
    why: "takes its settings and hooks from the place that this names",
    inPackages: true,
    patterns: [".git", "*.git/commondir", "*.git/{modules,worktrees}/**/commondir"],
  },
  {
    tool: "git",
    why: "takes a folder with a HEAD for a repository, and runs programs that its settings name",
    inPackages: true,
    patterns: ["HEAD"],
    except: ["*.git/**"],
  },
  {
    tool: "git",
    why: "runs the exec lines of an unfinished rebase when it goes on",
    inPackages: true,
    patterns: [
      "*.git/{rebase-merge,rebase-apply,sequencer}/**",
      "*.git/{modules,worktrees}/**/{rebase-merge,rebase-apply,sequencer}/**",
    ],
  },
  {
    tool: "husky, lefthook, pre-commit",
    why: "run these from the git hooks that they have installed",
    patterns: [
      ".husky/**",
      "{,.}lefthook{,-local}.{yml,yaml,toml,json,jsonc}",
      ".config/lefthook{,-local}.{yml,yaml,toml,json,jsonc}",
      ".lefthook{,-local}/**",
      ".pre-commit-config.{yaml,yml}",
      "hk.pkl",
    ],
  },
  {
    tool: "hg, sl, jj",
    why: "run hooks, extensions and programs that their settings name",
    patterns: [".hg/hgrc", ".hgrc", ".sl/config", ".jj/repo/config.toml", ".config/jj/**", ".jjconfig.toml"],
  },
  {
    tool: "direnv, mise, rvm",
    why: "run these when a shell enters the folder",
    patterns: [
      ".envrc",
      "{,.}mise{,.*}.toml",
      "{.,}mise/{config,config.*,mise,mise.*}.toml",
      ".config/{mise,mise.*}.toml",
      ".config/mise/**",
      ".rvmrc",
      ".config/direnv/**",
      ".direnvrc",
    ],
  },
  {
    tool: "VS Code",
    why: "runs tasks when the folder is opened, and programs that its settings name",
    patterns: [".vscode/{tasks,settings,launch,mcp}.json", ".vscode/extensions/**", "*.code-workspace"],
  },
  {
    tool: "JetBrains IDEs",
    why: "run startup tasks, file watchers and run configurations from here",
    patterns: [".idea/**", ".run/*.run.xml", ".fleet/*.json"],
  },
  {
    tool: "zed, helix",
    why: "start the language servers, tasks and terminals that these name",
    patterns: [".zed/*.json", ".helix/*.toml", ".config/{zed,helix}/**"],
  },
  {
    tool: "vim, emacs",
    why: "run these when they start, or when a file of the folder is opened",
    patterns: [
      ".{vimrc,gvimrc,exrc,nvimrc,nvim.lua,ideavimrc}",
      ".vim/**",
      ".config/nvim/**",
      ".emacs",
      ".emacs.d/**",
      ".config/emacs/**",
      ".dir-locals{,-2}.el",
    ],
  },
  {
    tool: "dev containers",
    why: "run initializeCommand on the host when the folder is opened",
    patterns: [".devcontainer/**", ".devcontainer.json"],
  },
  {
    tool: "agents",
    why: "start the MCP servers that these name",
    patterns: ["{,.}mcp.json", ".{roo,kilocode,trae}/mcp.json", ".kiro/settings/**"],
  },
  {
    tool: "Drydock",
    why: "lets commands read and keep what this says",
    patterns: [".config/drydock/**"],
  },
  {
    tool: "agents",
    why: "run hooks, plugins, commands and servers from their settings",
    patterns: [
      ".{claude,codex,cursor,gemini,qwen,windsurf,opencode,continue,kiro,amp,factory,goose}/*",
      `.{claude,codex,cursor,gemini,qwen,windsurf,opencode,continue,kiro,amp,factory,goose}/${AGENT_PARTS}/**`,
      ".claude-plugin/**",
      ".claude.json",
      "{,.}{opencode,crush}.{json,jsonc}",
      ".aider.conf.{yml,yaml}",
      ".config/{opencode,goose,crush,amp}/**",
    ],
  },
  {
    tool: "npm, pnpm, yarn, bun",
    why: "load programs and settings from these at every call",
    patterns: [
      ".npmrc",
      ".pnpmfile.{cjs,mjs}",
      ".yarnrc",
      ".yarnrc.{yml,yaml}",
      ".yarn/{releases,plugins}/**",
      "{,.}bunfig.toml",
    ],
  },
  {
    tool: "cargo, rustup, bazel, maven, gradle",
    why: "run wrappers and programs that these name at every call, and when an editor looks at the project",
    patterns: [
      ".cargo/{config,config.toml}",
      "rust-toolchain{,.toml}",
      ".{bazelrc,bazeliskrc}",
      "tools/bazel",
      ".mvn/**",
      ".gradle/init.{gradle,gradle.kts}",
      ".gradle/init.d/*",
    ],
  },
  {
    tool: "interpreters and debuggers",
    why: "run these when they start in the folder, or for this user",
    patterns: [
      ".{Rprofile,Renviron,irbrc,pryrc,pdbrc,gdbinit,lldbinit,sqliterc,psqlrc,mongoshrc.js}",
      ".ipython/**",
      ".julia/config/startup.jl",
      "{sitecustomize,usercustomize}.py",
    ],
  },
  {
    tool: "shells",
    why: "run these when they start or end",
    patterns: [
      ".{profile,login,logout,bashrc,bash_profile,bash_login,bash_logout,bash_aliases}",
      ".{zshrc,zshenv,zprofile,zlogin,zlogout,kshrc,mkshrc,cshrc,tcshrc}",
      ".bashrc.d/**",
      ".config/{fish,zsh,nushell,elvish,environment.d}/**",
      ".inputrc",
      ".tmux.conf",
      ".config/tmux/**",
      ".screenrc",
      ".lessfilter",
      ".ripgreprc",
    ],
  },
  {
    tool: "the session",
    why: "starts these at login, or by a timer",
    patterns: [
      ".{xinitrc,xprofile,xsession,xsessionrc,pam_environment}",
      ".config/{autostart,autostart-scripts,systemd,plasma-workspace}/**",
      ".local/share/{systemd,dbus-1}/**",
    ],
  },
  {
    tool: "the PATH",
    why: "leads here first for most users, so a file here can take the place of any program",
    patterns: [".local/bin/**"],
  },
  {
    tool: "ssh, gpg",
    why: "run programs that these name, and let in users whom these name",
    patterns: [".ssh/**", ".gnupg/*.conf"],
  },
  {
    tool: "docker, kubectl, aws",
    why: "run the credential helpers that these name",
    patterns: [".docker/config.json", ".docker/cli-plugins/**", ".kube/config", ".aws/config"],
  },
  {
    tool: "drydock",
    why: "loads the modules that it names once it is trusted or named",
    patterns: ["drydock.yaml"],
  },
];
