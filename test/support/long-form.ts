import { it, type TestFn, type TestOptions } from "node:test";

/** Whether the tests run in their long form, which tries everything, instead of a choice (test/README.md). */
export const IS_LONG = process.env["DRYDOCK_TEST"] === "long";

/**
 * A test that only the long form has. No promise rests on it alone: its ids don't count as tested
 * (test/project/promises.test.ts).
 */
export function itInLongForm(title: string, test: TestFn): void {
  if (IS_LONG) it(title, test);
}

/** What makes a test, as `it` does. */
interface TestMaker {
  (title: string, test: TestFn): void;
  (title: string, options: TestOptions, test: TestFn): void;
}

/**
 * `it` for tests that are repeated with several values, of which these take turns. In a normal run the title
 * says whose turn a test is, so that it is tried with one of them, and each has its share; in a long run with
 * all of them. A value that is not among them has all tests.
 */
export function itInTurn<Value>(value: Value, values: readonly Value[]): TestMaker {
  return (title: string, ...rest: [TestFn] | [TestOptions, TestFn]) => {
    const number = Array.from(title, (letter) => letter.charCodeAt(0)).reduce((sum, code) => sum + code, 0);
    const isOthers = values.includes(value) && values[number % values.length] !== value;
    if (isOthers && !IS_LONG) return;
    const [options, test] = rest.length === 1 ? [{}, rest[0]] : rest;
    it(title, options, test);
  };
}
