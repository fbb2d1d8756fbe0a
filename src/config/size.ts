import { UsageError } from "../core/errors/errors.ts";
import { displayPath } from "../core/paths/byte-path.ts";

const UNITS = { g: 2 ** 30, m: 2 ** 20, k: 2 ** 10 } as const;
type Unit = keyof typeof UNITS;

/**
 * The form of a size: a whole number of units, at least one. Six digits keep every number of bytes exact.
 */
export const SIZE_PATTERN = /^([1-9][0-9]{0,5})([kmg])$/;

/** The number of bytes that "64k", "512m" or "2g" means. */
export function parseSize(text: string): number {
  const [, count, unit] = SIZE_PATTERN.exec(text) ?? [];
  if (count === undefined) {
    throw new UsageError(`'${displayPath(text)}' is not a size.`, {
      hint: "Write a whole number and a unit: 64k, 512m or 2g.",
    });
  }
  return Number(count) * UNITS[unit as Unit];
}

/**
 * The shortest exact form of a size: 2g rather than 2048m. A size that is not a whole number of units is a
 * number of bytes.
 */
export function formatSize(bytes: number): string {
  const units = Object.entries(UNITS) as [Unit, number][];
  const [unit, size] = units.find(([, length]) => bytes % length === 0 && bytes >= length) ?? [" bytes", 1];
  return `${bytes / size}${unit}`;
}
