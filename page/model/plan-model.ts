import { batch, computed, signal } from "@preact/signals";
import { CallError } from "../api/calls.ts";
import { type CommentPlace, changesOf, look, reviewOf, showPlan, vote, voteOnHunks } from "../api/server.ts";
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
  readonly line = signal<Pick<CommentPlace, "side" | "line">>({});
  readonly landing = new LandingModel(this);
  readonly hunks = signal<ShownHunks | undefined>(undefined);
  /** Which of the hunks is chosen. */
  readonly hunk = signal(0);
  /** Counts how often the user went to another hunk, so that the view follows. */
  readonly hunkSteps = signal(0);
  /** Where the user is about to comment. */
  readonly commenting = signal<CommentPlace | undefined>(undefined);
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
  #settle: ReturnType<typeof setTimeout> | undefined;

  constructor(id: string) {
    this.id = id;
  }

  /** Reads everything. What is shown stays until the first page of what is new is there. */
  async load(): Promise<void> {
    this.#reading.abort();
    const reading = new AbortController();
    this.#reading = reading;
    this.isLoading.value = true;
    const words = this.#words;
    try {
      const plan = await showPlan(this.id);
      this.plan.value = plan;
      await this.readComments();
      if (plan.state === "open") await this.#readChanges(reading.signal);
      else batch(() => this.#take(undefined, []));
      this.failure.value = undefined;
      if (words !== this.#words) this.#later();
    } catch (thrown) {
      if (reading.signal.aborted) return;
      // The changes moved while they were read.
      if (thrown instanceof CallError && thrown.problem?.code === "STALE_CURSOR") return this.#later();
      this.failure.value = thrown instanceof Error ? thrown.message : String(thrown);
    } finally {
      if (this.#reading === reading) this.isLoading.value = false;
    }
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
    if (event === "sealed" && details["digest"] === this.diff.value?.digest) return;
    this.#later();
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
    await look(this.id, [...digests]);
    this.changes.value = this.changes.value.map((change) =>
      digests.has(change.digest) ? { ...change, seen: true } : change,
    );
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

/** A word on a change takes the place of those on its hunks. */
function voted({ vote: _, hunks: __, ...change }: Change, word: Vote | "none"): Change {
  return word === "none" ? change : { ...change, vote: word };
}
