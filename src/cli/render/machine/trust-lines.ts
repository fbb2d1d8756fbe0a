import type { TrustedConfig } from "../../../config/settings-in-force.ts";
import { displayPath } from "../../../core/paths/byte-path.ts";
import type { Styles } from "../styles.ts";

/** What was trusted: the config and every file that it loads; and what the trust does not cover. */
export function* trustLines(
  { file, modules, packages, hidesText }: TrustedConfig,
  styles: Styles,
): Generator<string> {
  const more = modules.length === 0 ? "." : ", and what it loads:";
  yield `Trusted ${displayPath(file)} as it is now${more}`;
  for (const module of modules) yield `  ${displayPath(module.file)}`;
  if (packages.length > 0)
    yield `Not covered: the packages that they import (${packages.map(displayPath).join(", ")}).`;
  for (const hiding of hidesText)
    yield `${styles.yellow("warning:")} ${displayPath(hiding)} holds invisible characters. Look at it with 'cat -A'.`;
}
