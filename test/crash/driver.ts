import type { StrategyContext } from "../../src/core/strategy.ts";
import { openServices } from "../../src/runtime.ts";
import type { Services } from "../../src/services.ts";
import { becomeChild, leave } from "../support/nursery-process.ts";
import { OneWayOverlay } from "../support/one-way-overlay.ts";
import type { DriverRequest } from "./run-driver.ts";
import { callSandboxes } from "./sandbox-calls.ts";
import { warmUp } from "./warm-up.ts";

/**
 * The program that has to die: opens a state directory and does one thing, with failpoints armed by its
 * environment. What came of it goes to its output as one line of JSON. As a nursery it does so in a child for
 * each request.
 */
const [argument = ""] = process.argv.slice(2);
const isNursery = argument === "nursery";
const request = JSON.parse(isNursery ? await becomeChild(warmUp) : argument) as DriverRequest;

try {
  process.stdout.write(JSON.stringify({ done: await act() }));
} catch (thrown) {
  process.stdout.write(JSON.stringify({ failed: describeError(thrown) }));
}
if (isNursery) leave(0);

async function act(): Promise<unknown> {
  const { stateDir, ways, config } = request;
  const strategies =
    ways === undefined ? [] : [(context: StrategyContext) => new OneWayOverlay(context, ways)];
  // Opening the state a month later is all that it takes for undo records to go.
  const later = request.operation === "expire" ? { now: () => new Date(Date.now() + 30 * 86_400_000) } : {};
  const drydock = await openServices({
    stateDir,
    cwd: "/",
    strategies,
    ...later,
    ...(config !== undefined && { config }),
  });
  try {
    return await operate(drydock);
  } finally {
    await drydock.close();
  }
}

async function operate(drydock: Services): Promise<unknown> {
  const { plans, recovery } = drydock;
  switch (request.operation) {
    case "create":
      return await plans.create({
        name: request.plan,
        resources: request.resources ?? [],
        allowIrreversible: true,
      });
    case "add":
      return await plans.add(request.plan, { resources: request.resources?.slice(1) ?? [] });
    case "write":
      return await plans.write(
        request.plan,
        request.resource ?? "",
        request.path ?? "",
        Buffer.from("written\n"),
      );
    case "apply":
      return await plans.apply(request.plan, {
        message: "from the driver",
        ...(request.only !== undefined && { only: request.only }),
        ...(request.approvedPart === true && { approvedPart: true }),
      });
    case "undo":
      return await plans.undo(request.plan);
    case "rollback":
      return await plans.rollback(request.plan, request.only === undefined ? {} : { only: request.only });
    case "cancel":
      return await plans.cancel(request.plan);
    case "recover":
      return recovery;
    case "give-up":
      return await drydock.settle(request.plan, "abort");
    case "save-plan":
      return await drydock.checkpoints.checkpoint(request.plan, { label: request.label ?? "saved" });
    case "restore-plan":
      return await drydock.checkpoints.restore(request.plan, request.label ?? "good");
    case "update-plan":
      return await drydock.updates.update(request.plan);
    case "resolve-path":
      return await drydock.updates.resolve(request.plan, {
        ...{ resource: "r1", path: request.conflict ?? "clean", how: "ours" },
      });
    case "purge":
      return await drydock.cleanup.purge();
    case "expire":
      return {};
    default:
      return await callSandboxes(drydock, request.plan, request.operation);
  }
}

function describeError(thrown: unknown): unknown {
  if (!(thrown instanceof Error)) return { name: "", message: String(thrown) };
  const { name, message, stack } = thrown;
  const details = "details" in thrown ? thrown.details : {};
  return {
    name,
    message,
    details,
    stack,
    ...(thrown.cause instanceof Error && { cause: thrown.cause.stack }),
  };
}
