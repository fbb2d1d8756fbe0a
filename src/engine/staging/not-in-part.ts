import { UnsupportedError } from "../../core/errors/errors.ts";

/** Refuses a file that can only land as the sandbox has it. */
export function notInPart(path: string): UnsupportedError {
  return new UnsupportedError(
    `${path} can only land as a whole: it is no file, has several names, or its content does not change.`,
    { hint: "Let it land as it is in the plan, or not at all." },
  );
}
