import { z } from "zod";

/** Parameters that several operations share. Longer ones than any name, path or list that makes sense. */
const LONGEST_TEXT = 65_536;
const MOST_ITEMS = 10_000;
const MOST_IN_PAGE = 100_000;

export const text = z.string().max(LONGEST_TEXT);
export const texts = z.array(text).max(MOST_ITEMS);

/** No parameters, no query. */
export const nothing = z.strictObject({});

export const ofPlan = z.strictObject({
  plan: text.min(1).describe("The plan: its id, the beginning of its id, or its name."),
});

export const resourceName = text
  .exactOptional()
  .describe("The name of a resource of the plan. Needed only if the plan has several.");

export const path = text
  .min(1)
  .describe(
    "A path inside the resource, relative to it; the root is '.'. In a URL any bytes, percent-encoded; in JSON a byte HH that is not UTF-8 is \\udcHH.",
  );

/** In a query everything is text. */
export const flag = z.stringbool({ truthy: ["true"], falsy: ["false"] }).exactOptional();
const digits = z
  .string()
  .regex(/^\d{1,15}$/, "expected a number")
  .transform(Number);
export const amount = digits.pipe(z.int().min(0)).exactOptional();
/** How many items a page may have. */
export const limit = digits.pipe(z.int().min(1).max(MOST_IN_PAGE)).exactOptional();

export const paths = texts.exactOptional().describe("Only changes at or below these paths.");
