/**
 * The known name that the user probably meant: the one with the fewest wrong letters, else the only one with
 * this beginning. Undefined if none is near. Ignores case, and treats `-` and `_` as equal.
 */
export function nearestName(name: string, known: readonly string[]): string | undefined {
  let best: { readonly name: string; readonly distance: number } | undefined;
  for (const candidate of known) {
    const distance = editDistance(normalised(name), normalised(candidate));
    const limit = Math.max(1, Math.floor(Math.max(name.length, candidate.length) / 3));
    if (distance <= limit && (best === undefined || distance < best.distance))
      best = { name: candidate, distance };
  }
  return best?.name ?? onlyCompletion(name, known);
}

function onlyCompletion(name: string, known: readonly string[]): string | undefined {
  if (name.length < 3) return undefined;
  const completions = known.filter((candidate) => normalised(candidate).startsWith(normalised(name)));
  return completions.length === 1 ? completions[0] : undefined;
}

function normalised(name: string): string {
  return name.toLowerCase().replaceAll("-", "_");
}

/** How many characters have to be inserted, removed, replaced or swapped with their neighbour. */
function editDistance(from: string, to: string): number {
  let beforeLast: readonly number[] = [];
  let last: readonly number[] = Array.from({ length: to.length + 1 }, (_, column) => column);
  for (let row = 1; row <= from.length; row += 1) {
    const current = [row];
    for (let column = 1; column <= to.length; column += 1) {
      const same = from[row - 1] === to[column - 1];
      const swapped =
        row > 1 && column > 1 && from[row - 1] === to[column - 2] && from[row - 2] === to[column - 1];
      current.push(
        Math.min(
          at(last, column) + 1,
          at(current, column - 1) + 1,
          at(last, column - 1) + (same ? 0 : 1),
          swapped ? at(beforeLast, column - 2) + 1 : Number.POSITIVE_INFINITY,
        ),
      );
    }
    beforeLast = last;
    last = current;
  }
  return at(last, to.length);
}

function at(row: readonly number[], column: number): number {
  return row[column] ?? Number.POSITIVE_INFINITY;
}
