import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { type CommentTarget, comment, removeComment, settle } from "../api/server.ts";
import type { Comment } from "../api/types.ts";
import type { PlanModel } from "../model/plan-model.ts";
import { attempt } from "../model/review.ts";
import { ago } from "../text/amounts.ts";
import { Shown } from "../text/shown.tsx";
import { TextQuestion } from "./dialogs.tsx";

/** Comments, each with what can be done about it. */
export function Comments({
  model,
  comments,
}: {
  readonly model: PlanModel;
  readonly comments: readonly Comment[];
}) {
  const act = (work: () => Promise<void>) =>
    void attempt(async () => {
      await work();
      await model.readComments();
      return undefined;
    });
  return comments.map((each) => (
    <div class={`comment ${each.resolved === undefined ? "" : "settled"}`} key={each.id}>
      <p class="comment-text">
        {each.text.split("\n").map((line, at) => (
          <span class="comment-line" key={at}>
            <Shown text={line} />
          </span>
        ))}
      </p>
      <p class="comment-facts">
        <Shown text={each.actor} /> <time dateTime={each.at}>{ago(each.at)}</time>
        {each.resolved !== undefined && " · settled"}
        <button type="button" onClick={() => act(() => settle(model.id, each))}>
          {each.resolved === undefined ? "Settle" : "Open again"}
        </button>
        <button type="button" onClick={() => act(() => removeComment(model.id, each))}>
          Remove
        </button>
      </p>
    </div>
  ));
}

interface QuestionProps {
  readonly model: PlanModel;
  readonly place: CommentTarget;
  readonly onClose: () => void;
}

/** Asks for a comment on a line or a change. */
export function CommentQuestion({ model, place, onClose }: QuestionProps): ComponentChildren {
  const [text, setText] = useState("");
  const send = async () => {
    const isDone = await attempt(async () => {
      await comment(model.id, place, text);
      await model.readComments();
      return undefined;
    });
    if (isDone) onClose();
  };
  return (
    <TextQuestion
      title={place.line === undefined ? "Comment on the change" : `Comment on line ${place.line}`}
      label="Comment"
      yes="Comment"
      text={text}
      onText={setText}
      isReady={text.trim() !== ""}
      onYes={() => void send()}
      onClose={onClose}
    />
  );
}
