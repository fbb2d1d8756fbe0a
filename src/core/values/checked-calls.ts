import type { Reader } from "./arguments.ts";

/** Any method; it can't be called before its arguments are known. */
type Method = (...args: never[]) => unknown;
type Callable = (...args: readonly unknown[]) => unknown;

/** The name and the reader of each argument of a method. */
type Arguments<Given extends readonly unknown[]> = {
  readonly [Position in keyof Given]-?: readonly [name: string, read: Reader<Given[Position]>];
};

/** The arguments of every method of a service. A method whose name is a symbol takes none. */
export type CheckedMethods<Service> = {
  readonly [Name in keyof Service & string as Service[Name] extends Method ? Name : never]: Arguments<
    Parameters<Extract<Service[Name], Method>>
  >;
};

type Described = { readonly [name: string]: readonly (readonly [name: string, read: Reader<unknown>])[] };

/**
 * The service with methods that read their arguments first (arguments.ts). A method that returns a promise
 * rejects it; a generator throws when it is first advanced.
 */
export function withCheckedCalls<Service extends object>(
  service: Service,
  title: string,
  methods: CheckedMethods<Service>,
): Service {
  const described = methods as object as Described;
  return new Proxy(service, {
    get: (target, name) => {
      const found: unknown = Reflect.get(target, name, target);
      if (typeof found !== "function" || typeof name !== "string" || described[name] === undefined)
        return found;
      return checkedCall(`${title}${name}`, described[name], found as Method, target);
    },
  });
}

/** A function that reads its arguments first. */
function checkedCall<M extends Method>(
  title: string,
  described: Described[string],
  method: M,
  target?: object,
): M {
  const read = (given: readonly unknown[]) =>
    described.map(([name, reader], position) => reader(given[position], `${title}: ${name}`));
  return inTheSameWay(method as Method as Callable, read, target) as Method as M;
}

function inTheSameWay(
  method: Callable,
  read: (given: readonly unknown[]) => unknown[],
  target?: object,
): Callable {
  switch (Object.prototype.toString.call(method)) {
    case "[object AsyncFunction]":
      return async (...given) => await (method.apply(target, read(given)) as Promise<unknown>);
    case "[object AsyncGeneratorFunction]":
      return async function* (...given) {
        yield* method.apply(target, read(given)) as AsyncGenerator<unknown>;
      };
    default:
      return (...given) => method.apply(target, read(given));
  }
}
