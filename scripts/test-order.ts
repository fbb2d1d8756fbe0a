/**
 * The test files that take longest, the longest first. They run first, so that no worker is still busy with
 * one of them when the others have nothing left. Files that mostly compute and files that mostly wait (for
 * servers, disks, time limits) alternate, so that they share the processors. The closing lines of a run name
 * its slowest files.
 */
const LONGEST = [
  "test/fleet/failures.test.ts",
  "test/fleet/two-hosts.test.ts",
  "test/databases/held-crash.test.ts",
  "test/crash/git.test.ts",
  "test/databases/clone-crash.test.ts",
  "test/databases/mariadb-clone-crash.test.ts",
  "test/fleet/kills.test.ts",
  "test/power-cut/power-cut.test.ts",
  "test/crash/overlay.test.ts",
  "test/run/standstill.test.ts",
  "test/databases/postgres-clone.test.ts",
  "test/databases/mariadb-clone.test.ts",
  "test/conformance/git-worktree.test.ts",
  "test/examples/s3-bucket.test.ts",
  "test/examples/container.test.ts",
  "test/crash/git-in-place.test.ts",
  "test/crash/kill.test.ts",
  "test/project/package.test.ts",
  "test/review/page.test.ts",
  "test/examples/python-strategy.test.ts",
  "test/conformance/overlay.test.ts",
  "test/end-to-end/strategy-check.test.ts",
  "test/databases/crash.test.ts",
  "test/databases/postgres.test.ts",
  "test/databases/mysql.test.ts",
  "test/run/crash.test.ts",
  "test/review/verdict.test.ts",
  "test/crash/snapshot.test.ts",
  "test/run/command.test.ts",
  "test/crash/errors.test.ts",
  "test/databases/postgres-clients.test.ts",
  "test/databases/mysql-clients.test.ts",
  "test/scenarios/many-sandboxes.test.ts",
  "test/crash/checkpoints.test.ts",
  "test/review/many.test.ts",
  "test/crash/updates.test.ts",
  "test/run/containers.test.ts",
  "test/rivals/rivals.test.ts",
  "test/properties/overlay.test.ts",
  "test/run/captured.test.ts",
  "test/crash/pairs.test.ts",
  "test/rivals/conflicts.test.ts",
  "test/concurrency/two-processes.test.ts",
  "test/rivals/held-open.test.ts",
  "test/concurrency/many-commands.test.ts",
  "test/run/write-back.test.ts",
  "test/crash/file-systems.test.ts",
  "test/crash/sandbox-calls.test.ts",
  "test/scenarios/hostile-content.test.ts",
  "test/databases/holder.test.ts",
  "test/crash/entries.test.ts",
  "test/library/documentation.test.ts",
  "test/properties/landing.test.ts",
  "test/crash/unprivileged.test.ts",
  "test/conformance/built-in.test.ts",
  "test/end-to-end/bad-input.test.ts",
  "test/scenarios/originals.test.ts",
  "test/properties/snapshot.test.ts",
  "test/git/robustness.test.ts",
  "test/agents/mcp.test.ts",
  "test/end-to-end/abandoning.test.ts",
  "test/scenarios/real-work.test.ts",
  "test/run/habits.test.ts",
  "test/scenarios/full-disk.test.ts",
  "test/git/hooks.test.ts",
  "test/regressions/closed-modes.test.ts",
];

/** The files in the order in which they run. */
export function longestFirst(files: readonly string[]): readonly string[] {
  const first = LONGEST.filter((file) => files.includes(file));
  return [...first, ...files.filter((file) => !first.includes(file))];
}

/** Those of the list that are not among the files. */
export function unknownIn(files: readonly string[]): readonly string[] {
  return LONGEST.filter((file) => !files.includes(file));
}
