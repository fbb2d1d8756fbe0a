/**
 * The Agent Client Protocol (version 1) between an editor and an agent inside a plan: JSON-RPC, a message in
 * each line.
 *
 * An editor that offers its own file system or terminals makes the agent write through the editor, outside of
 * the plan. So the offer is taken out of `initialize`, and a request of the agent for them is answered here
 * and never reaches the editor. Everything else passes as it is, byte for byte.
 */

import { DrydockError } from "../../../core/errors/errors.ts";

/** Prompts carry images and whole files; no message is longer. */
const LONGEST_LINE = 64 << 20;
const NEWLINE = 0x0a;
const METHOD_NOT_FOUND = -32601;

interface Message {
  readonly id?: unknown;
  readonly method?: unknown;
  readonly params?: { readonly clientCapabilities?: unknown };
}

/** The messages of the editor, for the agent. */
export async function* toAgent(input: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  for await (const line of lines(input, "The editor")) {
    const message = messageIn(line);
    yield message?.method === "initialize" ? lineOf(withoutOffers(message)) : line;
  }
}

/**
 * The messages of the agent, for the editor. `refuse` gets the answer to a request that the editor does not
 * see.
 */
export async function* toEditor(
  output: AsyncIterable<Uint8Array>,
  refuse: (answer: Uint8Array) => Promise<void>,
): AsyncGenerator<Uint8Array> {
  for await (const line of lines(output, "The agent")) {
    const message = messageIn(line);
    const { method, id } = message ?? {};
    if (typeof method !== "string" || !/^(?:fs|terminal)\//.test(method)) yield line;
    else if (id !== undefined) await refuse(lineOf({ jsonrpc: "2.0", id, error: refusal(method) }));
  }
}

function refusal(method: string): object {
  const message = `${method} is not offered: work with the files and commands of the machine, which are those of a plan of Drydock.`;
  return { code: METHOD_NOT_FOUND, message };
}

/** What the editor would do for the agent outside of the plan, or at a terminal, which the agent has not. */
function withoutOffers(message: Message): Message {
  const { params } = message;
  const offered = params?.clientCapabilities;
  if (!isObject(offered)) return message;
  const { fs: _, terminal: __, auth, _meta: meta, ...others } = offered;
  const clientCapabilities = {
    ...others,
    ...(auth !== undefined && { auth: without(auth, "terminal") }),
    ...(meta !== undefined && { _meta: without(meta, "terminal-auth") }),
  };
  return { ...message, params: { ...params, clientCapabilities } };
}

function without(value: unknown, key: string): unknown {
  if (!isObject(value)) return value;
  const { [key]: _, ...others } = value;
  return others;
}

function isObject(value: unknown): value is { readonly [key: string]: unknown } {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** The message of a line; none if the line holds no JSON object, which the other side has to judge. */
function messageIn(line: Uint8Array): Message | undefined {
  try {
    const message: unknown = JSON.parse(Buffer.from(line).toString("utf8"));
    return isObject(message) ? message : undefined;
  } catch {
    return undefined;
  }
}

function lineOf(message: object): Uint8Array {
  return Buffer.from(`${JSON.stringify(message)}\n`);
}

/** Whole lines, each with its end; the last one may have none. */
async function* lines(input: AsyncIterable<Uint8Array>, sender: string): AsyncGenerator<Uint8Array> {
  let pieces: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of input) {
    let rest = chunk;
    for (let end = rest.indexOf(NEWLINE); end >= 0; end = rest.indexOf(NEWLINE)) {
      yield Buffer.concat([...pieces, rest.subarray(0, end + 1)]);
      [pieces, length, rest] = [[], 0, rest.subarray(end + 1)];
    }
    if (rest.length > 0) pieces.push(rest);
    length += rest.length;
    if (length > LONGEST_LINE)
      throw new DrydockError("UNSUPPORTED", `${sender} sent a line of more than ${LONGEST_LINE} bytes.`, {
        hint: "A message of the Agent Client Protocol is one line of JSON.",
      });
  }
  if (length > 0) yield Buffer.concat(pieces);
}
