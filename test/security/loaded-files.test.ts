import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import { Stage } from "../run/stage.ts";

/**
 * What every program loads when it starts, in a sandbox or a scratch layer. A command may change it for
 * itself and for the next one; what starts the next one, and has privileges until then, must not load it. All
 * of this happens in namespaces in which /etc is a copy.
 */
const PLACES: {
  readonly [where: string]: { readonly resources: readonly string[]; readonly env: NodeJS.ProcessEnv };
} = {
  "the scratch layer of a home that is /etc": { resources: [], env: { HOME: "/etc" } },
  "a sandbox of /etc": { resources: ["/etc"], env: {} },
  "sandboxes of single files": {
    resources: ["/etc/ld.so.cache,strategy=filesystem_copy", "/etc/nsswitch.conf,strategy=filesystem_copy"],
    env: {},
  },
};

/**
 * The first process inside has this one more, of no use to it: a process can't trace one that may do more.
 */
const WAKE_ALARM = 1n << 35n;

describe("What programs load by themselves", () => {
  it("[X7] is not loaded from a view by what has more privileges than a command", {
    skip: unusable(),
  }, async (test) => {
    using stage = new Stage("root");
    buildLibraries(stage.project);
    for (const [where, { resources, env }] of Object.entries(PLACES))
      await test.test(`in ${where}`, () => {
        const given = [stage.project, ...resources].map((resource) => `-r '${resource}'`).join(" ");
        const { status, stdout, stderr } = stage.run(
          "unshare",
          ["--mount", "sh", "-c", script(stage, given)],
          { env },
        );
        assert.equal(status, 0, stderr);
        const held = capabilities(stdout);
        const own = held.at(-1);
        // A command that is refused loads nothing.
        if (own === undefined) assert.match(stderr, /^error: .*\/etc/m);
        else
          assert.deepEqual(
            new Set(held.filter((each) => (each & ~own & ~WAKE_ALARM) !== 0n)),
            new Set(),
            stdout,
          );
        assert.ok(!existsSync(join(stage.project, "loaded")), "it was loaded outside of the view");
      });
  });
});

function unusable(): string | false {
  if (process.geteuid?.() !== 0) return "only root can change what every program loads";
  return spawnSync("cc", ["--version"]).status === 0 ? false : "there is no compiler";
}

/**
 * Libraries of which programs load one or the other: the real ones are loaded through these, so that
 * everything goes on.
 */
const REPLACED = ["libmount.so.1", "libcap-ng.so.0", "libselinux.so.1"];

/**
 * Leaves a line in a file of the folder wherever it is loaded. It needs no headers: those are not on every
 * machine that has a compiler.
 */
const SOURCE = `
int open(const char *, int, ...); long read(int, void *, unsigned long); long write(int, const void *, unsigned long); int close(int);
__attribute__((constructor)) static void loaded(void) {
  char status[4096], line[64]; int at = 0, length = 0, end = 0, file = open("/proc/self/status", 0);
  if (file < 0) return;
  end = read(file, status, sizeof status); close(file);
  while (at < end && length < 20 && status[at] != '\\n') line[length++] = status[at++];
  for (line[length++] = ' '; at + 7 < end; at++)
    if (status[at] == 'C' && status[at + 3] == 'E' && status[at + 4] == 'f' && status[at + 5] == 'f') break;
  while (at < end && length < 63 && status[at] != '\\n') line[length++] = status[at++];
  line[length++] = '\\n';
  if ((file = open(LOADED, 02101, 0666)) < 0) return;
  write(file, line, length); close(file);
}
`;

function buildLibraries(folder: string): void {
  writeFileSync(join(folder, "planted.c"), SOURCE);
  const build = (name: string, ...options: readonly string[]) =>
    run(
      "cc",
      "-shared",
      "-fPIC",
      "-nostdlib",
      "-fno-stack-protector",
      `-DLOADED="${folder}/loaded"`,
      "-o",
      join(folder, name),
      join(folder, "planted.c"),
      ...options,
    );
  build("planted.so");
  mkdirSync(join(folder, "libraries"));
  const known = run("/sbin/ldconfig", "-p").matchAll(/^\t(\S+) .* => (\S+)$/gm);
  for (const [, name = "", path = ""] of known)
    if (REPLACED.includes(name)) build(`libraries/${name}`, `-Wl,-soname,${name}`, `-Wl,--filter=${path}`);
  // All others are found where the loader looks without a cache.
  writeFileSync(join(folder, "ld.so.conf"), `${folder}/libraries\n`);
}

/**
 * Plants it all with one command, and looks with the next: last of what it says is what a command holds
 * itself.
 */
function script(stage: Stage, given: string): string {
  const { path, project } = stage;
  const inside = `cat '${project}/cache' > /etc/ld.so.cache; echo '${project}/planted.so' > /etc/ld.so.preload
    echo 'passwd: planted' > /etc/nsswitch.conf; cp '${project}/planted.so' /etc/libnss_planted.so.2`;
  return `
    mkdir -p '${path}/etc' && cp -a /etc/ld.so.* /etc/nsswitch.conf /etc/passwd /etc/group /etc/alternatives '${path}/etc' || exit
    mount --make-rprivate / && mount -t tmpfs none /var/cache/ldconfig
    /sbin/ldconfig -X -C '${project}/cache' -f '${project}/ld.so.conf' || exit
    mount --bind '${path}/etc' /etc || exit
    plan=$("$DRYDOCK" plan create ${given}) || exit
    "$DRYDOCK" plan exec $plan -- sh -c "${inside.replaceAll(/["$]/g, "\\$&")}" 2> /dev/null
    "$DRYDOCK" plan exec $plan -- sh -c 'cat loaded; grep CapEff /proc/self/status'
    exit 0`;
}

function capabilities(text: string): readonly bigint[] {
  return [...text.matchAll(/CapEff:\s+(\w+)/g)].map(([, held]) => BigInt(`0x${held}`));
}

function run(file: string, ...args: readonly string[]): string {
  const { status, stdout, stderr } = spawnSync(file, args, { encoding: "utf8" });
  assert.equal(status, 0, stderr);
  return stdout;
}
