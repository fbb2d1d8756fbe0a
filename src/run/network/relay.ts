import type { Duplex } from "node:stream";

/** Passes bytes both ways, as fast as the slower side reads, until both have ended or one breaks. */
export function relay(one: Duplex, other: Duplex): void {
  one.pipe(other);
  other.pipe(one);
  for (const [from, to] of [[one, other] as const, [other, one] as const])
    from.once("close", () => {
      if (!from.readableEnded) to.destroy();
    });
}
