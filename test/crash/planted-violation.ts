import { writeFileSync } from "node:fs";
import { armFailpoints, failpoint, passFailpoint } from "../../src/system/failpoints.ts";

/**
 * A program that makes one file behind a failpoint and one without: the checker of system calls must find the
 * second.
 */
const [folder = ""] = process.argv.slice(2);
armFailpoints(undefined, process.env["DRYDOCK_FAILPOINT_TRACE"]);
passFailpoint(failpoint("planted.create"));
writeFileSync(`${folder}/covered`, "");
writeFileSync(`${folder}/not-covered`, "");
