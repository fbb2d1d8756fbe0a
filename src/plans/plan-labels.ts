import { UsageError } from "../core/errors/errors.ts";
import { displayPath } from "../core/paths/byte-path.ts";
import type { PlanLabels } from "../core/plan.ts";

/** Labels to look for: with this value, or with any (`true`). */
export interface WantedLabels {
  readonly [key: string]: string | true;
}

const KEY = /^[A-Za-z0-9][\w./-]{0,99}$/;
const LONGEST_VALUE = 1_000;

/** Refuses labels that can't be written, shown or found again. */
export function assertLabels(labels: PlanLabels): void {
  for (const [key, value] of Object.entries(labels)) {
    if (!KEY.test(key))
      throw badLabel(
        `The key '${displayPath(key)}' of a label is not a word.`,
        "Use up to 100 letters, digits and _ . - /, a letter or digit first.",
      );
    if (/[\p{Cc}\p{Zl}\p{Zp}]/u.test(value) || value.length > LONGEST_VALUE)
      throw badLabel(
        `The value of the label ${key} holds control characters, or is longer than ${LONGEST_VALUE}.`,
        "Use a line of text.",
      );
  }
}

/** Whether a plan has all of these labels. */
export function hasLabels({ labels = {} }: { readonly labels?: PlanLabels }, wanted: WantedLabels): boolean {
  return Object.entries(wanted).every(
    ([key, value]) => Object.hasOwn(labels, key) && (value === true || labels[key] === value),
  );
}

function badLabel(message: string, hint: string): UsageError {
  return new UsageError(message, { hint, code: "BAD_NAME" });
}
