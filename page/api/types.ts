import type { components } from "../../schema/openapi.d.ts";

/** The documents of the API, by the names that the page uses. */
type Schemas = components["schemas"];

export type Plan = Schemas["Plan"];
export type Diff = Schemas["ReviewPage"];
export type Change = Schemas["ReviewedChange"];
export type ChangedRows = Schemas["ChangedRows"];
export type ShownValue = Schemas["ShownValue"];
export type Vote = NonNullable<Change["vote"]>;
export type Review = Schemas["Review"];
export type Comment = Schemas["Comment"];
export type Hunks = Schemas["Hunks"];
export type ReviewedHunk = Hunks["hunks"][number];
export type Rename = Diff["renames"][number];
export type SelfRunning = Diff["selfRunning"][number];
export type Checkpoint = Schemas["Checkpoint"];
export type SavedDiff = Schemas["Diff"];
export type SavedChange = SavedDiff["changes"][number];
export type LogEntry = Schemas["Log"]["entries"][number];
export type PlanEvent = Schemas["Event"];
export type Scratch = Schemas["Scratch"];
export type Landing = Schemas["Landing"];
export type Problem = Schemas["Problem"];
export type Progress = Schemas["Progress"];
export type Update = Schemas["Update"];
export type Resolved = Schemas["Resolved"];
export type RolledBack = Schemas["RolledBack"];
export type Resolution = Resolved["how"];

/** What the server says about the review. */
export interface ReviewSession {
  /** The plan that the review is about; null: any. */
  readonly plan: string | null;
  readonly version: string;
}
