import { CHANGE_SIDES } from "../core/change.ts";
import { amount, fields, list, oneOf, optional, ordinal, text, truth } from "../core/values/arguments.ts";
import { type CheckedMethods, withCheckedCalls } from "../core/values/checked-calls.ts";
import type { ChangeAddress, ChangeSideAddress } from "../plans/review/change-content.ts";
import type { ChangedRowsOptions } from "../plans/review/changed-rows.ts";
import {
  type ChangesAskedRequest,
  type CommentEdit,
  type CommentRequest,
  type ReviewTarget,
  type ReviewTargets,
  VOTES,
  type VoteRequest,
} from "../plans/review/review-views.ts";
import type { Services } from "../services.ts";
import { callsOf } from "./calls.ts";
import { diffPageOptions } from "./diff-arguments.ts";
import type { Review } from "./plan.ts";

const side = oneOf(...CHANGE_SIDES);
const via = optional(text);
const targets = {
  targets: list(
    fields<ReviewTarget>({
      resource: optional(text),
      path: optional(text),
      digest: optional(text),
      hunk: optional(text),
    }),
  ),
  digest: optional(text),
  via,
};
const commentId = ["comment", text] as const;

const methods: CheckedMethods<Review> = {
  show: [],
  changes: [["options", optional(diffPageOptions)]],
  hunks: [["place", fields<ChangeAddress>({ resource: optional(text), path: text })]],
  rows: [
    [
      "options",
      fields<ChangedRowsOptions>({
        ...{ resource: optional(text), path: text, cursor: optional(text), limit: optional(amount) },
      }),
    ],
  ],
  content: [
    [
      "place",
      fields<ChangeSideAddress>({ resource: optional(text), path: text, side, digest: optional(text) }),
    ],
  ],
  vote: [["request", fields<VoteRequest>({ vote: oneOf(...VOTES, "none"), ...targets })]],
  look: [["request", fields<ReviewTargets>(targets)]],
  comment: [
    [
      "request",
      fields<CommentRequest>({
        ...{ text, resource: optional(text), path: optional(text), digest: optional(text), via },
        ...{ side: optional(side), line: optional(ordinal) },
      }),
    ],
  ],
  editComment: [
    commentId,
    ["edit", fields<CommentEdit>({ text: optional(text), resolved: optional(truth), via })],
  ],
  removeComment: [commentId],
  askForChanges: [["request", fields<ChangesAskedRequest>({ digest: text, message: optional(text), via })]],
};

/** The review of a plan. */
export function reviewHandle(services: Services, id: string): Review {
  const call = callsOf(services, { planId: id });
  const { reviews } = services;
  return withCheckedCalls<Review>(
    {
      show: async () => await (await reviews()).show(id),
      changes: async (options) =>
        await call("review", options, async (rest) => (await reviews()).changes(id, rest)),
      hunks: async (place) => await (await reviews()).hunks(id, place),
      rows: async (options) => await (await reviews()).rows(id, options),
      content: async (place) => await (await reviews()).content(id, place),
      vote: async (request) => await (await reviews()).vote(id, request),
      look: async (request) => await (await reviews()).look(id, request),
      comment: async (request) => await (await reviews()).comment(id, request),
      editComment: async (comment, edit) => await (await reviews()).editComment(id, comment, edit),
      removeComment: async (comment) => await (await reviews()).removeComment(id, comment),
      askForChanges: async (request) => await (await reviews()).askForChanges(id, request),
    },
    "review.",
    methods,
  );
}
