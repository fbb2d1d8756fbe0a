import type { SandboxRef } from "../../core/sandbox.ts";
import type { IntendedPlace } from "../../core/strategy.ts";
import type { StrategyModule } from "../strategy-factory.ts";

/**
 * The protocol between the suite and its victim (victim-main.ts). The victim gets one request as its argument
 * and reports on its output as lines of JSON. Each line begins with a secret mark, so output of the strategy
 * itself disturbs nothing. Bytes among the arguments are `{ "base64": … }`.
 */
export interface VictimRequest {
  readonly mark: string;
  readonly module: StrategyModule;
  readonly stateDir: string;
  readonly method: string;
  readonly args: readonly unknown[];
  readonly death?: Death;
}

/** When the process dies. */
export type Death =
  /** As soon as the call has begun to wait for something. */
  | { readonly kind: "start" }
  /** After the call has ended, before the process reports it. */
  | { readonly kind: "end" }
  | { readonly kind: "time"; readonly milliseconds: number }
  | { readonly kind: "failpoint"; readonly name: string; readonly pass: number }
  /**
   * When the next request after this failpoint is under way: the process writes its id to this file, and the
   * suite kills it.
   */
  | { readonly kind: "request"; readonly name: string; readonly pass: number; readonly file: string };

export type VictimLine =
  | { readonly kind: "intent"; readonly ref: SandboxRef; readonly places: readonly IntendedPlace[] }
  /** `at` is in milliseconds, by a clock that all processes share. */
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
