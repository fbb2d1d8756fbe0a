/** Milliseconds by a clock that all processes of this machine share, finer than `Date.now()`. */
export function sharedTime(): number {
  return performance.timeOrigin + performance.now();
}
