/** The names that lead back to themselves, where each name may refer to one other. */
export function namesInCycles(references: ReadonlyMap<string, string>): readonly string[] {
  return [...references.keys()].filter((start) => {
    const seen = new Set<string>();
    for (
      let name = references.get(start);
      name !== undefined && !seen.has(name);
      name = references.get(name)
    ) {
      if (name === start) return true;
      seen.add(name);
    }
    return false;
  });
}
