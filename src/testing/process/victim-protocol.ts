import type { SandboxRef } from "../../core/sandbox.ts";
import type { IntendedPlace } from "../../core/strategy.ts";
import type { StrategyModule } from "../strategy-factory.ts";

/**
 * How the suite speaks with a process that is there to die (victim-main.ts): it gets one request as its
 * argument, and says what happens as lines of JSON on its output. They begin with a mark that nobody else
 * knows, so that a strategy that prints something disturbs nothing. Bytes among the arguments are `{
 * "base64": … }`.
 */
export interface VictimRequest {
  readonly mark: string;
  readonly module: StrategyModule;
  readonly stateDir: string;
  readonly method: string;
  readonly args: readonly unknown[];
  readonly death?: Death;
}

/** When the process is to die. */
export type Death =
  /** As soon as the call has begun to wait for something. */
  | { readonly kind: "start" }
  /** When the call is through, before anybody hears of it. */
  | { readonly kind: "end" }
  | { readonly kind: "time"; readonly milliseconds: number }
  | { readonly kind: "failpoint"; readonly name: string; readonly pass: number }
  /**
   * When what it sends next after this failpoint is on its way. It then makes this file, with its process id
   * in it, and is killed from outside.
   */
  | { readonly kind: "request"; readonly name: string; readonly pass: number; readonly file: string };

export type VictimLine =
  | { readonly kind: "intent"; readonly ref: SandboxRef; readonly places: readonly IntendedPlace[] }
  /** `at` is the time in milliseconds, by a clock that all processes share. */
  | { readonly kind: "passed"; readonly name: string; readonly pass: number; readonly at: number }
  | { readonly kind: "returned"; readonly value: unknown; readonly milliseconds: number }
  | { readonly kind: "threw"; readonly message: string };

export function encodeCall(args: readonly unknown[]): readonly unknown[] {
  return args.map((argument) =>
    argument instanceof Uint8Array ? { base64: Buffer.from(argument).toString("base64") } : argument,
  );
}

export function decodeCall(args: readonly unknown[]): readonly unknown[] {
  return args.map((argument) => {
    const base64 = (argument as { readonly base64?: unknown } | null)?.base64;
    return typeof base64 === "string" ? Buffer.from(base64, "base64") : argument;
  });
}
