/** Returns a function that makes the value on its first call and returns the same value afterwards. */
export function lazyValue<T>(make: () => T): () => T {
  let made: { readonly value: T } | undefined;
  return () => {
    made ??= { value: make() };
    return made.value;
  };
}

/** The methods of a service that return a promise. */
type AsyncMethod<Service> = {
  [Name in keyof Service]: Service[Name] extends (...given: never[]) => Promise<unknown> ? Name : never;
}[keyof Service];

/** These methods of a service, each of which loads the service when it is called. */
export function loadedLate<Service, Name extends AsyncMethod<Service>>(
  load: () => Promise<Service>,
  names: readonly Name[],
): Pick<Service, Name> {
  const call =
    (name: Name) =>
    async (...given: readonly unknown[]) => {
      const service = (await load()) as { [method in Name]: (...given: readonly unknown[]) => unknown };
      return await service[name](...given);
    };
  return Object.fromEntries(names.map((name) => [name, call(name)])) as Pick<Service, Name>;
}
