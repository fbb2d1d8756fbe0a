import type { PreparedCommit } from "../../core/strategy.ts";

/** What a prepared commit says of its landing. */
export interface PreparedLanding {
  /** The name of the landing's folder. */
  readonly landing: string;
  /** The digest of its record: a record with another one is damaged. */
  readonly digest: string;
  /** Whether a part of the work lands, and the rest stays open. */
  readonly isOfPart: boolean;
}

/** Reads what the strategies that land from a folder write into `PreparedCommit.data`. */
export function preparedLanding({ data }: PreparedCommit): PreparedLanding {
  return {
    landing: String(data["landing"]),
    digest: String(data["digest"]),
    isOfPart: data["part"] === true,
  };
}
