import { UsageError } from "drydock-sandbox/strategy";

/** What a location such as `s3://bucket/some/prefix` stands for. */
export interface Place {
  readonly bucket: string;
  /** Empty, or ends with a slash. */
  readonly prefix: string;
}

const LONGEST_KEY = 1024;

export function placeOf(location: string): Place {
  const [, bucket, rest = ""] = /^s3:\/\/([a-z0-9][a-z0-9.-]+)(?:\/(.*))?$/.exec(location) ?? [];
  const folders = rest.split("/").filter((name) => name !== "");
  if (bucket === undefined || folders.some(leadsElsewhere))
    throw new UsageError(`${location} is no bucket.`, { hint: "Write s3://BUCKET or s3://BUCKET/PREFIX." });
  return { bucket, prefix: folders.map((name) => `${name}/`).join("") };
}

/** The key of an object, by its path in the resource. */
export function keyOf({ prefix }: Place, path: string): string {
  const names = path.split("/");
  if (path === "." || names.some((name) => name === "" || leadsElsewhere(name)))
    throw new UsageError(`'${path}' is the path of no object.`, {
      hint: "Give a path inside.",
      code: "BAD_PATH",
    });
  const key = `${prefix}${path}`;
  if (!path.isWellFormed() || Buffer.byteLength(key) > LONGEST_KEY)
    throw new UsageError(`'${path.toWellFormed()}' can't be a key.`, {
      hint: `Keys are UTF-8 and have at most ${LONGEST_KEY} bytes.`,
      code: "BAD_PATH",
    });
  return key;
}

/**
 * The path of an object in the resource; undefined if no path leads there: keys can be anything, such as
 * "a//b" or "folder/".
 */
export function pathOf({ prefix }: Place, key: string): string | undefined {
  const path = key.slice(prefix.length);
  const isPath =
    key.startsWith(prefix) && path.split("/").every((name) => name !== "" && !leadsElsewhere(name));
  return isPath && path.isWellFormed() ? path : undefined;
}

/** How a version is shown to a person, who finds it by that. */
export function shownVersion({ bucket, prefix }: Place, path: string, version: string): string {
  return `s3://${bucket}/${prefix}${path}?versionId=${version}`;
}

function leadsElsewhere(name: string): boolean {
  return name === "." || name === "..";
}
