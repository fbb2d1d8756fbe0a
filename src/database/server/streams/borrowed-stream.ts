import type { Socket } from "node:net";

/** The stream of a connection that is lent. */
export interface BorrowedStream {
  readonly stream: Socket;
  /** Gives it back, with the bytes that were not for the borrower. */
  giveBack(rest: Buffer): void;
}

/** Takes the stream of an idle connection from its driver, until it is given back. */
export function borrowStream(stream: Socket, take: (bytes: Buffer) => void): BorrowedStream {
  const readers = stream.listeners("data") as ((bytes: Buffer) => void)[];
  stream.removeAllListeners("data");
  stream.on("data", take);
  return {
    stream,
    giveBack: (rest) => {
      stream.off("data", take);
      for (const reader of readers) stream.on("data", reader);
      if (rest.length > 0) for (const reader of readers) reader(rest);
    },
  };
}
