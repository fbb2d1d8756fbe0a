import type { Attention } from "../../core/strategy.ts";
import type { ManifestEntry } from "../manifest/manifest.ts";
import type { Slots } from "../manifest/slots.ts";
import type { Passage, Verdict } from "./landing-decision.ts";

/** The message for each verdict. */
const MESSAGES: { readonly [verdict in Exclude<Verdict, "done" | "not-kept">]: string } = {
  "done-over-deleted":
    "another process deleted it while the plan was landing; the plan's version is there now",
  "set-aside": "another process changed it while the plan was landing; that version is kept",
  "left-alone": "another process changed it while the plan was landing; it was left as it is",
  "not-deleted": "another process changed it while the plan was landing; it was not deleted",
  "made-anew": "another process made it anew while the plan was landing; it was left alone",
};
const NOT_KEPT: { readonly [kind in Passage["kind"]]: string } = {
  replace: "what was to come in its place is no longer kept, so it was left alone",
  "bring-in": "what was to come here is no longer kept, so it was left alone",
  "take-out": "what was here is no longer kept, so it was left alone",
};
const KEPT_BEFORE = "another process made it anew while the plan was landing; what was there before is kept";
const NOT_RENAMED =
  "another process moved or removed it while the plan was landing, so it did not get its other name";
const FOLDER_GONE = "its folder is gone from the original, so it did not land";

/** The report of a landing's run: where it met another writer, and which slots hold that writer's version. */
export class LandingReport {
  readonly attention: Attention[] = [];
  readonly keptSlots: number[] = [];
  readonly #slots: Slots;

  constructor(slots: Slots) {
    this.#slots = slots;
  }

  verdict(verdict: Verdict, target: ReportedEntry, kind: Passage["kind"]): void {
    if (verdict === "done") return;
    if (verdict === "set-aside") this.#kept(target, MESSAGES[verdict]);
    else this.tell(target.entry, verdict === "not-kept" ? NOT_KEPT[kind] : MESSAGES[verdict]);
  }

  folderGone(entry: ManifestEntry, slot: number): void {
    this.#kept({ entry, slot }, FOLDER_GONE);
  }

  /** Another writer has taken the name between two steps of an exchange. The old entry is kept there. */
  keptBefore({ path }: ManifestEntry, keptAt: string): void {
    this.attention.push({ path, message: KEPT_BEFORE, keptAt });
  }

  /** Another writer has moved or removed a folder that gets another name. */
  notRenamed({ path }: ManifestEntry): void {
    this.attention.push({ path, message: NOT_RENAMED });
  }

  tell({ path }: ManifestEntry, message: string): void {
    this.attention.push({ path, message });
  }

  #kept({ entry: { path }, slot }: ReportedEntry, message: string): void {
    const isKept = this.#slots.facts(slot) !== undefined;
    this.attention.push({ path, message, ...(isKept && { keptAt: this.#slots.label(slot) }) });
    if (isKept) this.keptSlots.push(slot);
  }
}

interface ReportedEntry {
  readonly entry: ManifestEntry;
  readonly slot: number;
}
