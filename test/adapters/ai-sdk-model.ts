import { MockLanguageModelV4 } from "ai/test";

type Answer = Awaited<ReturnType<MockLanguageModelV4["doGenerate"]>>;

const USAGE = {
  inputTokens: { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 },
  outputTokens: { total: 1, text: 1, reasoning: 0 },
};

/** A model of the AI SDK that asks for each of these commands in turn, and then says that it is done. */
export function modelThatRuns(...commands: readonly string[]): MockLanguageModelV4 {
  const calls = commands.map(
    (command, at): Answer => ({
      content: [
        {
          type: "tool-call",
          toolCallId: `call-${at}`,
          toolName: "bash",
          input: JSON.stringify({ command }),
        },
      ],
      finishReason: { unified: "tool-calls", raw: undefined },
      usage: USAGE,
      warnings: [],
    }),
  );
  const end: Answer = {
    content: [{ type: "text", text: "Done." }],
    finishReason: { unified: "stop", raw: undefined },
    usage: USAGE,
    warnings: [],
  };
  return new MockLanguageModelV4({ doGenerate: [...calls, end] });
}
