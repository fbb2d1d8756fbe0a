import type { Definition, DefinitionChange } from "./clone-changes.ts";
import { tablePath } from "./row-paths.ts";

/** The definitions that differ, those that come or change in the order in which they can be made. */
export function changedDefinitions<Side extends Definition>(
  before: readonly Side[],
  after: readonly Side[],
): DefinitionChange<Side>[] {
  const [old, fresh] = [byIdentity(before), byIdentity(after)];
  const identities = [...new Set([...fresh.keys(), ...old.keys()])];
  return identities.flatMap((identity) => {
    const [was, is] = [old.get(identity), fresh.get(identity)];
    const one = is ?? was;
    if (one === undefined || isSame(was, is)) return [];
    return [
      {
        path: definitionPath(one),
        type: one.type,
        operation: was === undefined ? "added" : is === undefined ? "deleted" : "modified",
        ...(was !== undefined && { before: was }),
        ...(is !== undefined && { after: is }),
      } as const,
    ];
  });
}

function definitionPath({ type, schema, name }: Definition): string {
  const path = tablePath({ schema, name });
  return type === "TABLE" ? path : `${type.toLowerCase()} ${path}`;
}

function byIdentity<Side extends Definition>(definitions: readonly Side[]): Map<string, Side> {
  const found = new Map<string, Side>();
  for (const definition of definitions) {
    const identity = [definition.type, definition.schema, definition.name];
    // Such as two comments on objects of the same name.
    for (let n = 0; ; n += 1) {
      const key = JSON.stringify([...identity, n]);
      if (found.has(key)) continue;
      found.set(key, definition);
      break;
    }
  }
  return found;
}

function isSame(a: Definition | undefined, b: Definition | undefined): boolean {
  return a?.sql === b?.sql && a?.owner === b?.owner;
}
