import type { ComponentChildren } from "preact";
import { useEffect, useRef } from "preact/hooks";

interface DialogProps {
  readonly title: string;
  readonly onClose: () => void;
  readonly children: ComponentChildren;
}

/**
 * A question, or a list, above the page. Escape closes it: here, because the browser hides it at once and
 * tells later that it did, and would close what a key has opened meanwhile.
 */
export function Dialog({ title, onClose, children }: DialogProps): ComponentChildren {
  const element = useRef<HTMLDialogElement>(null);
  useEffect(() => element.current?.showModal(), []);
  const closeByKey = (event: KeyboardEvent) => {
    if (event.key !== "Escape" || event.isComposing) return;
    event.preventDefault();
    onClose();
  };
  return (
    <dialog ref={element} onClose={onClose} onKeyDown={closeByKey} aria-labelledby="dialog-title">
      <h2 id="dialog-title">{title}</h2>
      {children}
    </dialog>
  );
}

interface QuestionProps extends DialogProps {
  /** The text of the button that says yes. */
  readonly yes: string;
  readonly isReady?: boolean;
  /** Whether a yes waits until the changes are read. */
  readonly isReading?: boolean;
  readonly onYes: () => void;
}

/** A question with its two answers. */
export function Question({
  yes,
  isReady = true,
  isReading = false,
  onYes,
  children,
  ...frame
}: QuestionProps) {
  return (
    <Dialog {...frame}>
      {children}
      <p class="actions">
        {/* Beside the buttons: they must not move away under a hand that is about to press one. */}
        <span role="status">{isReading && "Reading…"}</span>
        <button type="button" onClick={frame.onClose}>
          Cancel
        </button>
        <button type="button" class="primary" disabled={!isReady} onClick={onYes}>
          {yes}
        </button>
      </p>
    </Dialog>
  );
}

type TextQuestionProps = Omit<QuestionProps, "children" | "isReady"> & {
  readonly label: string;
  readonly text: string;
  readonly onText: (text: string) => void;
  readonly isReady: boolean;
};

/** A question that is answered by a text. Ctrl and Enter send it. */
export function TextQuestion({ label, text, onText, ...question }: TextQuestionProps) {
  return (
    <Question {...question}>
      <textarea
        rows={6}
        aria-label={label}
        value={text}
        onInput={(event) => onText(event.currentTarget.value)}
        onKeyDown={(event) => {
          if (event.key === "Enter" && event.ctrlKey && question.isReady) question.onYes();
        }}
      />
    </Question>
  );
}
