import * as z from "zod";
import type { Limits } from "../core/values/limits.ts";
import { DURATION_PATTERN, parseDuration } from "./duration.ts";
import { section } from "./schema-parts.ts";
import { parseSize, SIZE_PATTERN } from "./size.ts";

/** The limits of a command, of `sandbox` and of a policy. */
export function limitsSection(description: string) {
  return section({
    processes: z
      .int("must be a whole number")
      .min(1, "must be at least 1")
      .optional()
      .meta({ description: "How many processes and threads there may be of it at once.", examples: [200] }),
    memory: sizeLimit("How much memory it may use", "2g"),
    scratch: sizeLimit("How much it may write outside the plan's resources", "5g"),
    time: positiveDuration()
      .optional()
      .meta({ description: "How long it may run: a number and d, h, m or s.", examples: ["30m"] }),
  }).describe(description);
}

/** What the section says. */
export function limitsFrom({ processes, memory, scratch, time }: LimitValues): Limits {
  return {
    ...(processes !== undefined && { processes }),
    ...(memory !== undefined && { memory: parseSize(memory) }),
    ...(scratch !== undefined && { scratch: parseSize(scratch) }),
    ...(time !== undefined && { time: parseDuration(time) }),
  };
}

type LimitValues = z.output<ReturnType<typeof limitsSection>>;

export function positiveDuration() {
  return z
    .string("must be a duration")
    .regex(DURATION_PATTERN, "must be a duration")
    .refine((text) => !/^0/.test(text), "must be at least 1s");
}

function sizeLimit(meaning: string, example: string) {
  return z
    .string("must be a size")
    .regex(SIZE_PATTERN, "must be a size")
    .optional()
    .meta({ description: `${meaning}: a number and k, m or g.`, examples: [example] });
}
