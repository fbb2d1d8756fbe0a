import { UsageError } from "../core/errors/errors.ts";
import { displayPath } from "../core/paths/byte-path.ts";

const UNITS = { d: 86_400_000, h: 3_600_000, m: 60_000, s: 1000 } as const;
type Unit = keyof typeof UNITS;

/**
 * The form of a duration: a whole number of days, hours, minutes or seconds. Seven digits keep every date in
 * range.
 */
export const DURATION_PATTERN = /^([0-9]{1,7})([dhms])$/;

/** The milliseconds that "7d", "12h", "30m" or "90s" means. */
export function parseDuration(text: string): number {
  const [, count, unit] = DURATION_PATTERN.exec(text) ?? [];
  if (count === undefined) {
    throw new UsageError(`'${displayPath(text)}' is not a duration.`, {
      hint: "Write a whole number and a unit: 7d, 12h, 30m or 90s.",
    });
  }
  return Number(count) * UNITS[unit as Unit];
}

/** The shortest form of a duration of whole seconds: 7d rather than 168h. */
export function formatDuration(milliseconds: number): string {
  const units = Object.entries(UNITS) as [Unit, number][];
  const [unit, size] = units.find(([, length]) => milliseconds % length === 0 && milliseconds >= length) ?? [
    "s",
    UNITS.s,
  ];
  return `${Math.floor(milliseconds / size)}${unit}`;
}
