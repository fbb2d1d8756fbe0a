import type { Operation } from "../sandboxes/access/operations.ts";
import type { Services } from "../services.ts";
import type { CallOptions } from "./call-options.ts";

/** Runs calls as operations of their own; each gets its options without those of every call. */
export function callsOf({ operations }: Services, about: Pick<Operation, "planId" | "resource">) {
  return async <Options extends CallOptions, T>(
    operation: string,
    options: Options | undefined,
    action: (rest: Omit<Options, keyof CallOptions>) => Promise<T>,
  ): Promise<T> => {
    const { signal, onProgress, ...rest } = options ?? ({} as Options);
    return await operations.run({ operation, ...about, signal, onProgress }, () => action(rest));
  };
}
