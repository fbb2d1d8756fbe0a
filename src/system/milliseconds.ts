/**
 * A clock for measuring how long something takes. Like `performance.now()`, which Node first has to load, for
 * up to 3 ms of every command.
 */
export function milliseconds(): number {
  const [seconds, nanoseconds] = process.hrtime();
  return seconds * 1e3 + nanoseconds / 1e6;
}
