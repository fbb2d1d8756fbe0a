/**
 * Waits for two things that are done at the same time. When one fails, the other has come to its end too, so
 * that nothing is still at work in what is cleaned up then; if both fail, the first one's failure is what
 * counts.
 */
export async function bothSettled<A, B>(first: Promise<A>, second: Promise<B>): Promise<[A, B]> {
  const [one, other] = await Promise.allSettled([first, second]);
  if (one.status === "rejected") throw one.reason;
  if (other.status === "rejected") throw other.reason;
  return [one.value, other.value];
}
