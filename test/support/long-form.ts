/** Whether the tests run in their long form, which tries everything, instead of a choice (test/README.md). */
export const IS_LONG = process.env["DRYDOCK_TEST"] === "long";
