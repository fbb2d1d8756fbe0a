/**
 * Waits until both promises are settled, then throws the first one's failure or else the second one's. So
 * nothing is still at work in what the caller cleans up after a failure.
 */
export async function bothSettled<A, B>(first: Promise<A>, second: Promise<B>): Promise<[A, B]> {
  const [one, other] = await Promise.allSettled([first, second]);
  if (one.status === "rejected") throw one.reason;
  if (other.status === "rejected") throw other.reason;
  return [one.value, other.value];
}
