import type { PolicyLine, RulePair } from "../../core/values/run-policy.ts";

/** The line that keeps a variable from commands; undefined if they get it. */
export function deniedBy(name: string, { deny, allow }: RulePair): PolicyLine | undefined {
  const denying = mostSpecific(name, deny);
  const allowing = allow === undefined ? undefined : mostSpecific(name, allow);
  if (denying === undefined)
    return allow === undefined || allowing !== undefined ? undefined : notAllowed(allow);
  return allowing !== undefined && weight(allowing.value) > weight(denying.value) ? undefined : denying;
}

/** A list of what is allowed denies the rest. */
function notAllowed(allow: readonly PolicyLine[]): PolicyLine {
  return { value: "*", from: allow[0]?.from ?? "an empty list" };
}

function mostSpecific(name: string, lines: readonly PolicyLine[]): PolicyLine | undefined {
  const matching = lines.filter(({ value }) => matches(name, value));
  return matching.toSorted((a, b) => weight(b.value) - weight(a.value))[0];
}

function matches(name: string, pattern: string): boolean {
  return new RegExp(`^${pattern.replaceAll("*", ".*")}$`, "s").test(name);
}

/** A whole name counts more than any pattern, and a pattern as much as it has letters. */
function weight(pattern: string): number {
  return pattern.includes("*") ? pattern.replaceAll("*", "").length : Number.POSITIVE_INFINITY;
}
