import { release } from "node:os";
import type { Command } from "commander";
import { type DrydockError, StateError, UnsupportedError } from "../../core/errors/errors.ts";
import { SERVER_DOWN } from "../../database/server/server-errors.ts";
import type { DoctorReport } from "../../plans/doctor.ts";
import type { CommandContext } from "../command-context.ts";
import { EXIT } from "../exit-codes.ts";
import { openToRead } from "../open-for-command.ts";
import { doctorLines } from "../render/machine/doctor-lines.ts";

/** `drydock doctor` */
export function define(command: Command, context: CommandContext): void {
  command.action(async () => {
    const report = await examine(context);
    context.result(report, () => doctorLines(report, context.output.styles));
    if (report.checks.some(({ ok }) => !ok)) context.exitWith(EXIT.failed);
  });
}

/** A state directory that can't be opened is a finding of the doctor, not a failure. */
async function examine(context: CommandContext): Promise<DoctorReport> {
  try {
    return await openToRead(context, (drydock) => drydock.doctor());
  } catch (thrown) {
    if (thrown instanceof StateError && thrown.code === SERVER_DOWN)
      return withoutDrydock("fleet database", thrown);
    if (thrown instanceof UnsupportedError) return withoutDrydock("platform", thrown);
    if (thrown instanceof StateError) return withoutDrydock("state directory", thrown);
    throw thrown;
  }
}

function withoutDrydock(name: string, { message, hint }: DrydockError): DoctorReport {
  return {
    node: process.version,
    kernel: release(),
    platform: `${process.platform} ${process.arch}`,
    stateDir: "-",
    checks: [{ name, ok: false, detail: `${message} ${hint}` }],
    strategies: [],
    resourceTypes: [],
  };
}
