import { InterruptedError, UnsupportedError } from "../../core/errors/errors.ts";
import type { Operations } from "../../sandboxes/access/operations.ts";
import { Folder } from "../../system/calls/folder.ts";
import { closeFile } from "../../system/calls/handles.ts";
import { readSpooled, writeBytes } from "../../system/data/file-data.ts";
import { failpoint } from "../../system/failpoints.ts";

const POINTS = { make: failpoint("spool.make"), data: failpoint("spool.data") };
/** The most that is read into memory for a strategy that takes only bytes. */
const LARGEST = 2 * 1024 ** 3;

/** A complete stream. */
export interface Spool {
  readonly size: number;
  /** A path by which this process can open it. */
  readonly path: string;
}

/**
 * Writes a stream into a file without a name in the state directory, and calls the action when it is
 * complete. So a stream that ends early or slowly neither changes the sandbox nor holds the plan, and a crash
 * leaves nothing.
 */
export async function spooled<T>(
  stateDir: string,
  content: AsyncIterable<Uint8Array>,
  operations: Pick<Operations, "signal">,
  action: (spool: Spool) => Promise<T>,
): Promise<T> {
  using folder = Folder.open(stateDir);
  const fd = folder.createNameless(POINTS.make);
  try {
    let size = 0;
    for await (const bytes of content) {
      if (operations.signal.aborted) throw new InterruptedError();
      writeBytes(POINTS.data, fd, bytes, "a stream");
      size += bytes.length;
    }
    return await action({ size, path: `/proc/self/fd/${fd}` });
  } finally {
    closeFile(fd);
  }
}

/** The whole content, for a strategy that takes only bytes. */
export function spooledBytes({ size, path }: Spool): Uint8Array {
  if (size > LARGEST)
    throw new UnsupportedError(`${size} bytes are too much for this strategy, which takes a file at once.`, {
      hint: "Write the file in the folder of the sandbox.",
      code: "TOO_LARGE",
    });
  return readSpooled(path);
}
