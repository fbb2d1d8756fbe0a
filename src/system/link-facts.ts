import { type Facts, lastFacts, statInto } from "./facts.ts";
import { AT_FDCWD, pathPointer } from "./native.ts";

/** The facts of what a link in /proc stands for, or undefined if it can't be asked any more. */
export function factsAtLink(link: string): Facts | undefined {
  const FOLLOW = 0;
  return statInto(AT_FDCWD, pathPointer(link), FOLLOW) < 0 ? undefined : lastFacts();
}
