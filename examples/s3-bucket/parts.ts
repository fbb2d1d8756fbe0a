import { createHash } from "node:crypto";
import { open, stat } from "node:fs/promises";

/**
 * How content is cut into the parts of an upload, and what S3 calls that: the ETag of a part is the MD5 of
 * its bytes, that of the object the MD5 of those (as bytes, one after the other), with the number of parts
 * behind it. All but the last part have to have 5 MiB.
 */
const PART_BYTES = 8 * 1024 * 1024;
const MOST_PARTS = 10_000;

/** The parts of a file, in order. One that is empty has one part, which is empty. */
export async function* partsOf(file: string): AsyncGenerator<Uint8Array, void, undefined> {
  const { size } = await stat(file);
  const partBytes = Math.max(PART_BYTES, Math.ceil(size / MOST_PARTS));
  await using handle = await open(file);
  for (let start = 0; start === 0 || start < size; start += partBytes) {
    const part = Buffer.alloc(Math.min(partBytes, size - start));
    const { bytesRead } = await handle.read(part, 0, part.length, start);
    if (bytesRead !== part.length) throw new Error(`${file} was cut short while it was read`);
    yield part;
  }
}

/** The ETags of the parts. */
export async function digestsOf(file: string): Promise<string[]> {
  const digests: string[] = [];
  for await (const part of partsOf(file)) digests.push(md5(part));
  return digests;
}

export function etagOf(digests: readonly string[]): string {
  return `${md5(Buffer.from(digests.join(""), "hex"))}-${digests.length}`;
}

/**
 * Whether an object with this ETag and size surely has the content of the file. One that others uploaded in
 * other parts may have it too.
 */
export async function hasContentOf(
  file: string,
  { etag, size }: { etag: string; size: number },
): Promise<boolean> {
  if ((await stat(file)).size !== size) return false;
  if (etag.includes("-")) return etagOf(await digestsOf(file)) === etag;
  const hash = createHash("md5");
  for await (const part of partsOf(file)) hash.update(part);
  return hash.digest("hex") === etag;
}

export function md5(bytes: Uint8Array): string {
  return createHash("md5").update(bytes).digest("hex");
}
