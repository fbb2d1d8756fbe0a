const AT_ONCE = 8;

/** Does the same for all items, a few at a time. When it fails, nothing of it is under way any more. */
export async function inParallel<T, R>(items: readonly T[], work: (item: T) => Promise<R>): Promise<R[]> {
  const results = new Map<number, R>();
  const waiting = [...items.entries()];
  const failures: unknown[] = [];
  const worker = async () => {
    for (let next = waiting.shift(); next !== undefined && failures.length === 0; next = waiting.shift())
      results.set(next[0], await work(next[1]));
  };
  const workers = Array.from({ length: Math.min(AT_ONCE, items.length) }, () =>
    worker().catch((thrown: unknown) => failures.push(thrown)),
  );
  await Promise.all(workers);
  if (failures.length > 0) throw failures[0];
  return [...results.entries()].sort(([one], [other]) => one - other).map(([, result]) => result);
}
