import { IN_A_USER_NAMESPACE, judge, rowsFor } from "./dispute.ts";

/**
 * Goes through the conflict table in the user namespace that this process is in; prints a line for each row.
 */
for (const row of rowsFor(IN_A_USER_NAMESPACE)) {
  try {
    await judge(row, IN_A_USER_NAMESPACE);
    console.log("as in the table");
  } catch (thrown) {
    console.log(`${row.title}: ${String(thrown).replaceAll("\n", " ")}`);
  }
}
