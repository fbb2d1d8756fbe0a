import { batch, computed, signal } from "@preact/signals";
import { isOver } from "../../src/core/plan.ts";
import { CallError } from "../api/calls.ts";
import { type CommentTarget, changesOf, look, reviewOf, showPlan, vote, voteOnHunks } from "../api/server.ts";
import type { Change, Comment, Diff, Plan, PlanEvent, Vote } from "../api/types.ts";
import { type Choice, groupsOf, isSeen, type Listed, type ListRow, listed, rowsOf } from "./change-list.ts";
import { type ShownHunks, withHunkVote } from "./hunks.ts";
import { LandingModel } from "./landing-model.ts";

/** Events after which the changes are others, or may be. */
const MOVING = new Set([
  ...[
    "executed",
    "changed",
    "restored",
    "rolled back",
    "part rolled back",
    "added",
    "applied",
    "part applied",
    "undone",
  ],
  ...["updated", "resolved", "cancelled", "sealed"],
]);
/** Events come in bursts, and reading all changes takes a moment. */
const SETTLE_MS = 300;

/** One plan as the page shows it: read from the server, and read again when something happens to it. */
export class PlanModel {
  readonly id: string;
  readonly plan = signal<Plan | undefined>(undefined);
  /** What is known of the diff; `changes` of it are those of the last page only. */
  readonly diff = signal<Diff | undefined>(undefined);
  readonly changes = signal<readonly Change[]>([]);
  readonly isLoading = signal(false);
  readonly failure = signal<string | undefined>(undefined);
  /** The changes moved since the user began to look at them. */
  readonly hasMoved = signal(false);
  readonly filter = signal("");
  readonly choice = signal<Choice>("all");
  readonly comments = signal<readonly Comment[]>([]);
  /** The line that a comment would be on. */
  readonly line = signal<Pick<CommentTarget, "side" | "line">>({});
  readonly landing = new LandingModel(this);
  readonly hunks = signal<ShownHunks | undefined>(undefined);
  /** Which of the hunks is chosen. */
  readonly hunk = signal(0);
  /** Counts how often the user went to another hunk, so that the view follows. */
  readonly hunkSteps = signal(0);
  /** Where the user is about to comment. */
  readonly commenting = signal<CommentTarget | undefined>(undefined);
  readonly toggled = signal<ReadonlySet<string>>(new Set());
  readonly selected = signal<string | undefined>(undefined);
  /** Counts the events, for views that show what only the server knows. */
  readonly moves = signal(0);

  readonly items = computed(() => listed(this.changes.value, this.diff.value?.renames ?? []));
  readonly groups = computed(() =>
    groupsOf(this.items.value, { selfRunning: this.diff.value?.selfRunning ?? [] }),
  );
  readonly rows = computed(() =>
    rowsOf(this.groups.value, {
      ...{ filter: this.filter.value, choice: this.choice.value, toggled: this.toggled.value },
    }),
  );
  readonly selectedRow = computed(() => this.rows.value.find(({ key }) => key === this.selected.value));
  /** How many changes the list has of all that there are. */
  readonly total = computed(() => {
    const { added = 0, modified = 0, deleted = 0 } = this.diff.value?.stats ?? {};
    return added + modified + deleted;
  });
  readonly hasRejected = computed(() =>
    this.changes.value.some(({ vote: word, hunks = {} }) =>
      [word, ...Object.values(hunks)].includes("rejected"),
    ),
  );
  readonly isComplete = computed(
    () => !this.isLoading.value && this.changes.value.length === this.total.value,
  );

  /** Votes and looks of this window that the server will tell of. */
  #own = 0;
  /** Counts what this window says. What is read meanwhile may lack it. */
  #words = 0;
  #reading = new AbortController();
  /** The newest reading. */
  #read = Promise.resolve();
  /** The digest of the last diff that was made while this reading goes on, by it or by another process. */
  #sealed: unknown;
  #settle: ReturnType<typeof setTimeout> | undefined;

  constructor(id: string) {
    this.id = id;
  }

  /**
   * Reads everything. What is shown stays until the first page of what is new is there. Another reading takes
   * the place of this one: then this ends with it, so that the plan is never older than the call.
   */
  async load(): Promise<void> {
    this.#reading.abort();
    clearTimeout(this.#settle);
    this.#reading = new AbortController();
    this.#read = this.#readAll(this.#reading.signal);
    let read: Promise<void>;
    do {
      read = this.#read;
      await read;
    } while (read !== this.#read);
  }

  async #readAll(signal: AbortSignal): Promise<void> {
    this.isLoading.value = true;
    this.#sealed = undefined;
    const words = this.#words;
    try {
      const plan = await showPlan(this.id, signal);
      const { comments } = await reviewOf(this.id, signal);
      batch(() => {
        this.plan.value = plan;
        this.comments.value = comments;
      });
      if (plan.state === "open") await this.#readChanges(signal);
      else if (isOver(plan)) batch(() => this.#take(undefined, []));
      this.failure.value = undefined;
      const isOld = this.#sealed !== undefined && this.#sealed !== this.diff.value?.digest;
      if (isOld || words !== this.#words) this.#later();
    } catch (thrown) {
      if (signal.aborted) return;
      if (isBehind(thrown)) return await this.#readMoved(signal);
      this.failure.value = thrown instanceof Error ? thrown.message : String(thrown);
    } finally {
      if (!signal.aborted) this.isLoading.value = false;
    }
  }

  /** The plan moved while it was read. */
  async #readMoved(signal: AbortSignal): Promise<void> {
    await new Promise((resolve) => setTimeout(resolve, SETTLE_MS));
    if (!signal.aborted) await this.#readAll(signal);
  }

  /** Something happened to the plan. */
  tell({ event, details }: PlanEvent): void {
    this.moves.value += 1;
    if (/^comment/.test(event)) void this.readComments();
    // What this window said itself is shown already.
    if ((event === "voted" || event === "looked") && this.#own > 0) this.#own -= 1;
    else if (event === "voted" || event === "looked") this.#later();
    if (!MOVING.has(event)) return;
    // Our own diff is recorded too.
    if (event === "sealed") {
      this.#sealed = details["digest"];
      if (this.isLoading.value || this.#sealed === this.diff.value?.digest) return;
    }
    // What this window does to the plan ends with a reading.
    if (this.landing.progress.value === undefined) this.#later();
  }

  async readComments(): Promise<void> {
    this.comments.value = (await reviewOf(this.id)).comments;
  }

  /** Says a word on changes. It shows at once, and is taken back here if the server refuses it. */
  async vote(items: readonly Listed[], word: Vote | "none"): Promise<void> {
    const changes = items.flatMap(({ changes: all }) => all);
    const digests = new Set(changes.map(({ digest }) => digest));
    await this.#say(
      (change) => (digests.has(change.digest) ? voted(change, word) : change),
      [() => vote(this.id, [...digests], word)],
    );
  }

  /** Says a word on one hunk of a change. */
  async voteOnHunk(change: Change, hunk: string, word: Vote | "none"): Promise<void> {
    const shown = this.hunks.value;
    if (shown?.digest !== change.digest) return;
    const { change: now, votes } = withHunkVote(change, shown.ids, { hunk, word });
    await this.#say(
      (each) => (each.digest === change.digest ? now : each),
      votes.map(
        ({ word: each, hunks }) =>
          () =>
            hunks === undefined
              ? vote(this.id, [change.digest], each)
              : voteOnHunks(this.id, change, hunks, each),
      ),
    );
  }

  /** Chooses the next or an earlier hunk of the change that is shown. */
  stepHunk(by: 1 | -1): void {
    const { length } = this.hunks.value?.ids ?? [];
    this.hunk.value = Math.max(0, Math.min(this.hunk.value + by, length - 1));
    this.hunkSteps.value += 1;
  }

  /** Other hunks are shown, or none. */
  showHunks(hunks: ShownHunks | undefined): void {
    batch(() => {
      this.hunks.value = hunks;
      this.hunk.value = 0;
      this.hunkSteps.value = 0;
    });
  }

  async #say(shown: (change: Change) => Change, calls: readonly (() => Promise<void>)[]): Promise<void> {
    const before = this.changes.value;
    this.changes.value = before.map(shown);
    this.#words += 1;
    this.#own += calls.length;
    try {
      for (const call of calls) await call();
      this.#words += 1;
    } catch (thrown) {
      this.#own = 0;
      this.changes.value = before;
      this.#later();
      throw thrown;
    }
  }

  /** The user has looked at a change. */
  async look(item: Listed): Promise<void> {
    if (isSeen(item)) return;
    const digests = new Set(item.changes.map(({ digest }) => digest));
    this.#words += 1;
    this.#own += 1;
    try {
      if ((await look(this.id, [...digests])) === 0) this.#untold();
    } catch (thrown) {
      this.#untold();
      // Nobody asked for it, so nobody hears that the change has moved, or the plan is over.
      if (isBehind(thrown)) return this.#later();
      throw thrown;
    }
    this.changes.value = this.changes.value.map((change) =>
      digests.has(change.digest) ? { ...change, seen: true } : change,
    );
  }

  /** The server does not tell of a word of this window; it may be that of another one was taken for it. */
  #untold(): void {
    if (this.#own > 0) this.#own -= 1;
    else this.#later();
  }

  close(): void {
    this.#reading.abort();
    clearTimeout(this.#settle);
  }

  /** Selects the next or an earlier change. */
  step(by: 1 | -1): void {
    const rows = this.rows.value;
    const from = rows.findIndex(({ key }) => key === this.selected.value);
    for (let at = from + by; at >= 0 && at < rows.length; at += by) {
      const row = rows[at];
      if (row?.row !== "change") continue;
      this.selected.value = row.key;
      return;
    }
  }

  /** Selects the next or an earlier row, headings included. */
  stepRow(by: number): void {
    const rows = this.rows.value;
    const from = rows.findIndex(({ key }) => key === this.selected.value);
    const to = Math.min(Math.max(from + by, 0), rows.length - 1);
    this.selected.value = rows[to]?.key;
  }

  toggle(key: string): void {
    const now = new Set(this.toggled.value);
    if (!now.delete(key)) now.add(key);
    this.toggled.value = now;
  }

  /** Begins a comment on the selected change, at the line that is chosen. */
  askForComment(): void {
    const row = this.selectedRow.value;
    if (row?.row !== "change") return;
    const { resource, path, digest } = row.item.change;
    this.commenting.value = { resource, path, digest, ...this.line.value };
  }

  select(row: ListRow | Listed): void {
    this.selected.value = row.key;
  }

  async #readChanges(signal: AbortSignal): Promise<void> {
    let changes: readonly Change[] = [];
    for await (const page of changesOf(this.id, signal)) {
      changes = [...changes, ...page.changes];
      batch(() => this.#take(page, changes));
    }
  }

  #take(diff: Diff | undefined, changes: readonly Change[]): void {
    const before = this.diff.value?.digest;
    if (before !== undefined && before !== diff?.digest) this.hasMoved.value = true;
    this.diff.value = diff;
    this.changes.value = changes;
    const first = this.rows.value.find(({ row }) => row === "change");
    if (this.selectedRow.value === undefined) this.selected.value = first?.key;
  }

  #later(): void {
    clearTimeout(this.#settle);
    this.#settle = setTimeout(() => void this.load(), SETTLE_MS);
  }
}

/** What the page knows of the plan is no longer so. */
const BEHIND: ReadonlySet<string | undefined> = new Set(["STALE_CURSOR", "DIGEST_DIFFERS", "PLAN_STATE"]);

function isBehind(thrown: unknown): boolean {
  return thrown instanceof CallError && BEHIND.has(thrown.problem?.code);
}

/** A word on a change takes the place of those on its hunks. */
function voted({ vote: _, hunks: __, ...change }: Change, word: Vote | "none"): Change {
  return word === "none" ? change : { ...change, vote: word };
}
