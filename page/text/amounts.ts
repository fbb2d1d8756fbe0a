/** Numbers and times for people. */

const COUNT = new Intl.NumberFormat("en");

/** "1 file", "12,345 files". */
export function counted(count: number, one: string, many = `${one}s`): string {
  return `${COUNT.format(count)} ${count === 1 ? one : many}`;
}

export function amount(count: number): string {
  return COUNT.format(count);
}

const UNITS = ["bytes", "KiB", "MiB", "GiB", "TiB"];

/** "17 bytes", "1.4 MiB". */
export function size(bytes: number): string {
  let [value, unit] = [bytes, 0];
  while (value >= 1024 && unit < UNITS.length - 1) {
    value /= 1024;
    unit += 1;
  }
  return `${unit === 0 ? value : value.toFixed(1)} ${UNITS[unit]}`;
}

const STEPS = [
  [60, "second"],
  [60, "minute"],
  [24, "hour"],
  [30, "day"],
  [12, "month"],
] as const;
const RELATIVE = new Intl.RelativeTimeFormat("en", { numeric: "auto" });

/** "3 minutes ago". */
export function ago(at: string, now = Date.now()): string {
  let value = (Date.parse(at) - now) / 1000;
  for (const [length, unit] of STEPS) {
    if (Math.abs(value) < length) return RELATIVE.format(Math.round(value), unit);
    value /= length;
  }
  return RELATIVE.format(Math.round(value), "year");
}
