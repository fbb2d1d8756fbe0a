import { UnsupportedError } from "../../core/errors/errors.ts";

const MOST_ATTEMPTS = 10;

/**
 * Whether a view that could not be built is to be built again: another process that mounts or unmounts
 * something meanwhile can make it fail. It is too late to tell whether one did: its mount may have lasted
 * only a moment.
 */
export function isWorthAnother(thrown: unknown, tries: number): boolean {
  return thrown instanceof UnsupportedError && tries < MOST_ATTEMPTS;
}
