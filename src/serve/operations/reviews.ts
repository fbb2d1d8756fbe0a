import { z } from "zod";
import { VOTES } from "../../plans/review/review-views.ts";
import { rangeAnswer } from "../http/byte-range.ts";
import { assertPerson, bytes, json, viaOf } from "../operation.ts";
import { limit, ofPlan, path, paths, resourceName, text } from "../shapes/parameters.ts";
import {
  changedRowsShape,
  commentShape,
  commentTarget,
  countShape,
  hunksShape,
  reviewPageShape,
  reviewShape,
  side,
  targets,
  verdictShape,
} from "../shapes/review-shapes.ts";

const ofComment = ofPlan.extend({ comment: text.min(1) });

/** Votes, looks, verdicts, and what becomes of comments are the word of a person. */
export const REVIEW_OPERATIONS = [
  json({
    id: "showReview",
    method: "get",
    path: "/plans/{plan}/review",
    summary: "What was said about the plan: the verdict and the comments",
    parameters: ofPlan,
    output: reviewShape,
    call: async ({ parameters }, { services }) => await (await services.reviews()).show(parameters.plan),
  }),
  json({
    id: "reviewChanges",
    method: "get",
    path: "/plans/{plan}/review/changes",
    summary: "A page of what would change, with the digest and the votes of each change",
    parameters: ofPlan,
    query: z.strictObject({
      paths,
      cursor: text.exactOptional().describe("The next of an earlier page."),
      limit: limit.describe("The most changes of a page. Default: 1,000."),
    }),
    output: reviewPageShape,
    call: async ({ parameters, query }, { services }) =>
      await (await services.reviews()).changes(parameters.plan, query),
  }),
  json({
    id: "reviewHunks",
    method: "get",
    path: "/plans/{plan}/review/hunks",
    summary: "The hunks of the change of a text file, in the order of its patch; none if it has no hunks",
    parameters: ofPlan,
    query: z.strictObject({ resource: resourceName, path }),
    output: hunksShape,
    call: async ({ parameters, query }, { services }) =>
      await (await services.reviews()).hunks(parameters.plan, query),
  }),
  json({
    id: "reviewRows",
    method: "get",
    path: "/plans/{plan}/review/rows",
    summary: "A page of the changed rows and definitions at a path of a database's diff",
    parameters: ofPlan,
    query: z.strictObject({
      resource: resourceName,
      path: path.describe("The path of a change, or a table: its name, as in the paths of its rows."),
      cursor: text.exactOptional().describe("The next of an earlier page."),
      limit: limit.describe("The most rows of a page. Default: 100; at most 1,000."),
    }),
    output: changedRowsShape,
    call: async ({ parameters, query }, { services }) =>
      await (await services.reviews()).rows(parameters.plan, query),
  }),
  bytes({
    id: "readChange",
    method: "get",
    path: "/plans/{plan}/review/content",
    summary: "The content of a file before or after its change, or a range of it",
    type: "application/octet-stream",
    ranges: true,
    parameters: ofPlan,
    query: z.strictObject({
      resource: resourceName,
      path,
      side,
      digest: text.exactOptional().describe("The digest of that side, as the change has it; refuses others."),
    }),
    call: async ({ parameters, query }, { services, header }) => {
      const content = await (await services.reviews()).content(parameters.plan, query);
      return rangeAnswer(header("range"), content.length, ({ offset, length }) =>
        piecesOf(content.subarray(offset, offset + length)),
      );
    },
  }),
  json({
    id: "voteOnChanges",
    method: "post",
    path: "/plans/{plan}/review/votes",
    summary: "Approve or reject changes, folders or resources, or take that back",
    parameters: ofPlan,
    body: z.strictObject({ vote: z.enum([...VOTES, "none"]), ...targets }),
    output: countShape,
    call: async ({ parameters, body }, context) => {
      const via = assertPerson(context);
      return await (await context.services.reviews()).vote(parameters.plan, { ...body, via });
    },
  }),
  json({
    id: "lookAtChanges",
    method: "post",
    path: "/plans/{plan}/review/looks",
    summary: "Record that the user has looked at changes",
    parameters: ofPlan,
    body: z.strictObject(targets),
    output: countShape,
    call: async ({ parameters, body }, context) => {
      const via = assertPerson(context);
      return await (await context.services.reviews()).look(parameters.plan, { ...body, via });
    },
  }),
  json({
    id: "commentOnPlan",
    method: "post",
    path: "/plans/{plan}/review/comments",
    summary: "Say something about a line, a change or the plan",
    parameters: ofPlan,
    body: z.strictObject({ text: text.min(1), ...commentTarget }),
    output: commentShape,
    status: 201,
    call: async ({ parameters, body }, context) =>
      await (await context.services.reviews()).comment(parameters.plan, { ...body, via: viaOf(context) }),
  }),
  json({
    id: "editComment",
    method: "put",
    path: "/plans/{plan}/review/comments/{comment}",
    summary: "Say a comment in other words, or settle it",
    parameters: ofComment,
    body: z.strictObject({ text: text.min(1).exactOptional(), resolved: z.boolean().exactOptional() }),
    output: commentShape,
    call: async ({ parameters: { plan, comment }, body }, context) => {
      const via = assertPerson(context);
      return await (await context.services.reviews()).editComment(plan, comment, { ...body, via });
    },
  }),
  json({
    id: "removeComment",
    method: "delete",
    path: "/plans/{plan}/review/comments/{comment}",
    summary: "Remove a comment",
    parameters: ofComment,
    output: z.strictObject({ removed: z.string() }),
    call: async ({ parameters: { plan, comment } }, context) => {
      const via = assertPerson(context);
      await (await context.services.reviews()).removeComment(plan, comment, via);
      return { removed: comment };
    },
  }),
  json({
    id: "askForChanges",
    method: "post",
    path: "/plans/{plan}/review/changes-asked",
    summary: "Record that the user wants other changes than those with this digest",
    parameters: ofPlan,
    body: z.strictObject({ digest: text.min(1), message: text.exactOptional() }),
    output: verdictShape,
    call: async ({ parameters, body }, context) => {
      const via = assertPerson(context);
      return await (await context.services.reviews()).askForChanges(parameters.plan, { ...body, via });
    },
  }),
];

const PIECE = 1024 * 1024;

async function* piecesOf(content: Uint8Array): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < content.length; at += PIECE) yield content.subarray(at, at + PIECE);
}
