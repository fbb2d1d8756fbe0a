import { z } from "zod";
import { UsageError } from "../../core/errors/errors.ts";
import { displayPath } from "../../core/paths/byte-path.ts";
import type { Entry } from "../../core/resource/entry.ts";
import { jsonResults } from "../../database/common/results-json.ts";
import type { EntryAddress } from "../../plans/entries/entry-views.ts";
import { rangeAnswer } from "../http/byte-range.ts";
import { bytes, type Call, json } from "../operation.ts";
import { flag, limit, ofPlan, path, resourceName, text } from "../shapes/parameters.ts";
import { changeShape, entryShape } from "../shapes/plan-shapes.ts";

const place = { resource: resourceName, path };

export const FILE_OPERATIONS = [
  bytes({
    id: "readFile",
    method: "get",
    path: "/plans/{plan}/file",
    summary: "The content of one file, or a range of it",
    type: "application/octet-stream",
    ranges: true,
    parameters: ofPlan,
    query: z.strictObject(place),
    call: async ({ parameters, query }, call) => {
      const at: EntryAddress = { ...parameters, ...query };
      const { size } = await mustBeThere(at, call);
      return rangeAnswer(call.header("range"), size, (range) => call.services.entries.read(at, range));
    },
  }),
  json({
    id: "writeFile",
    method: "put",
    path: "/plans/{plan}/file",
    summary: "Write one file, all of it or nothing, and make missing folders",
    parameters: ofPlan,
    query: z.strictObject(place),
    body: "bytes",
    output: changeShape,
    call: async ({ parameters, query }, { services, content }) => {
      // A wrong plan is refused before the content is taken.
      const { id } = await services.plans.find(parameters.plan);
      return await services.entries.write({ ...query, plan: id }, content);
    },
  }),
  json({
    id: "showEntry",
    method: "get",
    path: "/plans/{plan}/entry",
    summary: "The entry at a path",
    parameters: ofPlan,
    query: z.strictObject(place),
    output: entryShape,
    call: async ({ parameters, query }, call) => await mustBeThere({ ...parameters, ...query }, call),
  }),
  json({
    id: "listEntries",
    method: "get",
    path: "/plans/{plan}/entries",
    summary: "A page of what is in a folder",
    parameters: ofPlan,
    query: z.strictObject({
      ...place,
      recursive: flag,
      match: text.exactOptional().describe("Only paths that this pattern chooses, with * and **."),
      prefix: text.exactOptional(),
      cursor: text.exactOptional().describe("The next of an earlier page."),
      limit,
    }),
    output: z.strictObject({ entries: z.array(entryShape), next: z.string().optional() }),
    call: async ({ parameters, query: { resource, path: folder, ...options } }, { services }) =>
      await services.entries.list({ ...parameters, resource, path: folder }, options),
  }),
  json({
    id: "removeEntry",
    method: "delete",
    path: "/plans/{plan}/entry",
    summary: "Remove an entry; a folder that is not empty only with recursive",
    parameters: ofPlan,
    query: z.strictObject({ ...place, recursive: flag }),
    output: z.strictObject({ removed: z.string() }),
    call: async ({ parameters, query: { recursive = false, ...at } }, { services }) => {
      await services.entries.remove({ ...parameters, ...at }, { recursive });
      return { removed: at.path };
    },
  }),
  json({
    id: "renameEntry",
    method: "post",
    path: "/plans/{plan}/rename",
    summary: "Give an entry another path, where nothing may be yet",
    parameters: ofPlan,
    body: z.strictObject({ resource: resourceName, from: path, to: path }),
    output: z.strictObject({ from: z.string(), to: z.string() }),
    call: async ({ parameters, body: { resource, from, to } }, { services }) => {
      await services.entries.rename({ ...parameters, resource, path: from }, to);
      return { from, to };
    },
  }),
  json({
    id: "makeFolder",
    method: "post",
    path: "/plans/{plan}/folder",
    summary: "Make a folder and those above it",
    parameters: ofPlan,
    body: z.strictObject(place),
    output: entryShape,
    status: 201,
    call: async ({ parameters, body }, call) => {
      const at = { ...parameters, ...body };
      await call.services.entries.makeFolder(at);
      return await mustBeThere(at, call);
    },
  }),
  json({
    id: "runSql",
    method: "post",
    path: "/plans/{plan}/sql",
    summary: "Run SQL statements in the sandbox of a database",
    parameters: ofPlan,
    body: z.strictObject({ resource: resourceName, script: z.string() }),
    output: z.strictObject({
      results: z.array(
        z.strictObject({
          columns: z.array(z.string()),
          rows: z
            .array(z.array(z.unknown()))
            .describe("Integers have all their digits; bytes are { base64 }."),
          changes: z.number(),
        }),
      ),
    }),
    call: async ({ parameters, body }, { services }) => ({
      results: jsonResults(await services.plans.sql(parameters.plan, body.resource, body.script)),
    }),
  }),
];

async function mustBeThere(at: EntryAddress, { services }: Call): Promise<Entry> {
  const found = await services.entries.stat(at);
  if (found !== undefined) return found;
  throw new UsageError(`There is no ${displayPath(at.path)} in the sandbox.`, { code: "NO_SUCH_FILE" });
}
