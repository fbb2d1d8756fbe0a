import type { Progress } from "../../core/strategy.ts";
import { oneLine } from "./printable.ts";

const FIRST_AFTER_MS = 300;
const EVERY_MS = 100;
const WIDTH = 24;
const ERASE_LINE = "\r\u001b[K";

/**
 * A bar with a count and an estimate, redrawn in place on a terminal. Short work shows none. The bar is
 * erased before anything else is written.
 */
export class ProgressBar {
  readonly #enabled: boolean;
  readonly #write: (text: string) => void;
  readonly #now: () => number;
  #task: { readonly name: string; readonly since: number } | undefined;
  #nextAt = 0;
  #shown = false;

  constructor(enabled: boolean, write: (text: string) => void, now: () => number) {
    this.#enabled = enabled;
    this.#write = write;
    this.#now = now;
  }

  /** Records the progress, and redraws the bar now and then. */
  update(progress: Progress): void {
    if (!this.#enabled) return;
    const now = this.#now();
    if (this.#task?.name !== progress.task) {
      // A task that follows at once continues the bar, so that a chain of short tasks does not flicker.
      if (!this.#shown) this.#nextAt = now + FIRST_AFTER_MS;
      this.#task = { name: progress.task, since: now };
    }
    if (now < this.#nextAt) return;
    this.#nextAt = now + EVERY_MS;
    this.#shown = true;
    this.#write(`${ERASE_LINE}${progressLine(progress, now - this.#task.since)}`);
  }

  /** Erases the bar, if there is one. */
  clear(): void {
    if (!this.#shown) return;
    this.#shown = false;
    this.#write(ERASE_LINE);
  }
}

/** The bar as text: "copying [=====>    ] 1,200 of 4,800, about 12 s left". */
export function progressLine({ task, done, total }: Progress, elapsedMs: number): string {
  const label = oneLine(task);
  if (total === undefined || total <= 0) return `${label} ${count(done)}`;
  const share = Math.min(done / total, 1);
  const filled = Math.round(share * WIDTH);
  const bar = `${"=".repeat(filled)}${" ".repeat(WIDTH - filled)}`;
  return `${label} [${bar}] ${count(done)} of ${count(total)}${estimate(share, elapsedMs)}`;
}

function estimate(share: number, elapsedMs: number): string {
  if (share <= 0 || share >= 1 || elapsedMs < FIRST_AFTER_MS) return "";
  const seconds = Math.ceil((elapsedMs / share - elapsedMs) / 1000);
  return seconds < 120 ? `, about ${seconds} s left` : `, about ${Math.ceil(seconds / 60)} min left`;
}

function count(number: number): string {
  return String(number).replace(/\B(?=(?:\d{3})+$)/g, ",");
}
