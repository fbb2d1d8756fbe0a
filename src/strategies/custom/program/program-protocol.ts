import { z } from "zod";
import type { LandingPolicy } from "../../../core/strategy-policies.ts";
import { decodeMarked } from "../../../core/values/marked-json.ts";
import { METHOD_NAMES } from "../method-table.ts";
import { problemsIn } from "../strategy-options.ts";

/**
 * # The protocol between Drydock and a strategy that is a program
 *
 * Each message is a line of JSON, from Drydock on the program's standard input, from the program on its
 * standard output. Bytes are `{ "~bytes": "base64" }`, integers beyond 2^53 `{ "~int": "12" }`, at any depth.
 *
 * 1. The program says what it is: `{ "strategy": … }` (`ProgramDescription`).
 * 2. Drydock says what it is for: `{ "open": … }` (`ProgramSettings`).
 * 3. Drydock calls methods of the contract: `{ "call": 1, "method": "read", "arguments": [ref, "a.txt"] }`.
 *    Calls may overlap; a program may do them one after the other.
 * 4. During a call the program may ask for a method of the `StrategyContext`:
 *    `{ "call": 1, "ask": 7, "method": "failpoint", "arguments": ["mine.step"] }`. Drydock answers
 *    `{ "ask": 7, "result": null }` or `{ "ask": 7, "error": { … } }`. It may also tell its progress:
 *    `{ "call": 1, "progress": { "task": "copying", "done": 3 } }`.
 * 5. The program answers a call by `{ "call": 1, "result": … }` or `{ "call": 1, "error": { "name": …,
 *    "message": … } }`; names of Drydock's errors are understood, with their facts beside.
 * 6. `{ "cancel": 1 }` tells it that the user interrupts that call.
 * 7. The end of its input tells it to end. When the process of Drydock dies, the kernel kills the program.
 */
export interface ProgramSettings {
  readonly stateDir: string;
  readonly options: unknown;
  readonly policy: LandingPolicy;
}

const description = z.object({
  name: z.string().min(1),
  version: z.string().optional(),
  capabilities: z.looseObject({}),
  /** The methods of the contract that it has. */
  methods: z.array(z.enum(METHOD_NAMES)),
  /** A JSON Schema of its options. */
  optionsSchema: z.looseObject({}).optional(),
});

export type ProgramDescription = z.infer<typeof description>;

const call = z.int();
const failure = z.looseObject({ name: z.string(), message: z.string() });

/** The messages of a program, each told by a member of its own. */
const MESSAGES = {
  strategy: z.object({ strategy: description }),
  ask: z.object({ call, ask: z.int(), method: z.string(), arguments: z.array(z.unknown()) }),
  progress: z.object({
    call,
    progress: z.object({
      task: z.string(),
      done: z.number().nonnegative(),
      total: z.number().nonnegative().optional(),
    }),
  }),
  error: z.object({ call, error: failure }),
  result: z.object({ call, result: z.unknown() }),
};

export type ProgramMessage = {
  readonly [Kind in keyof typeof MESSAGES]: { readonly kind: Kind } & z.infer<(typeof MESSAGES)[Kind]>;
}[keyof typeof MESSAGES];

/** A message of a program, or the problem with it. */
export function readMessage(
  line: string,
): ProgramMessage | { readonly kind: "nonsense"; readonly problem: string } {
  const value = decoded(line);
  const members = typeof value === "object" && value !== null ? value : {};
  const kind = (Object.keys(MESSAGES) as (keyof typeof MESSAGES)[]).find((known) =>
    Object.hasOwn(members, known),
  );
  if (kind === undefined) return { kind: "nonsense", problem: `it is no message: ${shown(line)}` };
  const { data, error } = MESSAGES[kind].safeParse(value);
  if (error !== undefined)
    return { kind: "nonsense", problem: `${problemsIn(error.issues)}: ${shown(line)}` };
  return { kind, ...data } as ProgramMessage;
}

function decoded(line: string): unknown {
  try {
    return decodeMarked(line);
  } catch {
    // It is no JSON, and so no message.
    return undefined;
  }
}

const MOST_SHOWN = 200;

function shown(line: string): string {
  return JSON.stringify(line.length > MOST_SHOWN ? `${line.slice(0, MOST_SHOWN)}…` : line);
}
