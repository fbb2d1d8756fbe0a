/** Returns a function that makes the value on its first call and returns the same value afterwards. */
export function lazyValue<T>(make: () => T): () => T {
  let made: { readonly value: T } | undefined;
  return () => {
    made ??= { value: make() };
    return made.value;
  };
}
