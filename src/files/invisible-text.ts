import { isAscii } from "node:buffer";
import { holdsInvisible } from "../core/invisible-characters.ts";
import type { ReadSide } from "./change-reader.ts";

/** What is to be said of a file whose new content holds what nobody sees. Of what is no text, or too much of it to be shown, nothing is said. */
export function invisibleWarnings({ content }: ReadSide): readonly string[] {
  const text = content?.text;
  if (text === undefined || !holdsInvisible(text.toString(isAscii(text) ? "latin1" : "utf8"))) return [];
  return ["holds invisible characters"];
}
