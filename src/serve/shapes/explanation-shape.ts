import { z } from "zod";
import { NETWORK_MODES } from "../../core/values/run-policy.ts";

const explainedLine = z.strictObject({ path: z.string(), from: z.string() });
const explainedLines = z.array(explainedLine);
const explainedVariables = z.array(z.strictObject({ name: z.string(), from: z.string() }));

export const explanationShape = z
  .strictObject({
    profiles: z.array(z.string()),
    resources: z.array(z.string()).describe("What it writes here lands, or is thrown away."),
    scratch: z.array(z.string()).describe("What it writes here goes with the plan."),
    ownHome: explainedLine
      .optional()
      .describe("The user's home, if it sees one of the plan's own in its place."),
    kept: explainedLines.describe("What it writes here stays, at once."),
    writtenBack: explainedLines.describe("What it replaces here stays when it has ended."),
    caches: z
      .strictObject({ paths: explainedLines, folder: z.string(), limit: z.number() })
      .describe("Caches that it shares with other plans, where they are, and how many bytes they may hold."),
    protects: explainedLines.describe("Patterns of what lands only with the user's word."),
    denied: explainedLines.describe("What it can't read."),
    readable: explainedLines.describe("What it can read in these, and in a home of the plan's own."),
    sockets: explainedLines.describe("Sockets of this machine that it can reach."),
    variables: z.strictObject({ dropped: explainedVariables, set: explainedVariables }),
    network: z.enum(NETWORK_MODES),
    networkFrom: z.string().optional().describe("The line about the network that counts."),
    reachable: z
      .array(z.strictObject({ destination: z.string(), from: z.string() }))
      .describe("With the network allow: all that it can reach."),
    published: z
      .array(z.strictObject({ address: z.string(), inside: z.number(), from: z.string() }))
      .describe("Ports of this machine that would lead to its own."),
    channel: z.boolean().describe("Whether it can look at its plan, save it and ask for a review."),
    channelFrom: z.string().optional().describe("The line about the channel that counts."),
    databases: z
      .boolean()
      .describe("Whether it can reach the servers of databases that its plan holds, past the plan."),
    databasesFrom: z.string().optional().describe("The line about these that counts."),
    strict: z.boolean(),
    limits: z.strictObject({
      processes: z.number().optional(),
      memory: z.number().optional(),
      scratch: z.number().optional(),
      time: z.number().optional(),
    }),
    limitsFrom: z
      .strictObject({
        processes: z.string().optional(),
        memory: z.string().optional(),
        scratch: z.string().optional(),
        time: z.string().optional(),
      })
      .describe("Which line of a policy says a limit."),
    refused: explainedLines.describe("Lines of a project that ask for more than the user's config allows."),
  })
  .meta({ id: "Explanation" });
