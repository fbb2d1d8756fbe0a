import { it, type TestFn } from "node:test";

/** Whether the tests run in their long form, which tries everything, instead of a choice (test/README.md). */
export const IS_LONG = process.env["DRYDOCK_TEST"] === "long";

/**
 * A test that only the long form has. No promise rests on it alone: its ids don't count as tested
 * (test/project/promises.test.ts).
 */
export function itInLongForm(title: string, test: TestFn): void {
  if (IS_LONG) it(title, test);
}
