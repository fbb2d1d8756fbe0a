import { bytesFromPath } from "../core/byte-path.ts";

/** One thing to mount, as a line of an fstab says it. */
export interface MountLine {
  readonly source: string;
  readonly target: string;
  readonly type: string;
  readonly options: readonly string[];
}

/** A part of the file tree shown in another place. */
export function bindLine(source: string, target: string, ...options: readonly string[]): MountLine {
  return { source, target, type: "none", options: ["bind", ...options] };
}

/** The table that `mount -a -T` takes: one process then mounts all of it, in this order. */
export function mountTableFile(lines: readonly MountLine[]): Buffer {
  const text = lines.map(({ source, target, type, options }) =>
    [source, target, type, options.join(","), "0 0"].map((field, at) => (at < 2 ? escaped(field) : field)).join(" "),
  );
  return bytesFromPath(`${text.join("\n")}\n`);
}

/** Blanks separate fields, a line end ends them, and a backslash begins an octal number. */
function escaped(path: string): string {
  return path.replace(/[\s\\#]/g, (char) =>
    char.charCodeAt(0) > 0x7f ? char : `\\${char.charCodeAt(0).toString(8).padStart(3, "0")}`,
  );
}
