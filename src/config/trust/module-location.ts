import { registerHooks } from "node:module";
import { join, resolve } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import type { CustomStrategy } from "../settings.ts";

/** A module as a config names it, and the folder to which it is relative. */
export type NamedModule = Pick<CustomStrategy, "module" | "folder">;

/** The URL of a module that is a file; undefined for a package. */
export function fileUrlOf({ module, folder }: NamedModule): string | undefined {
  if (/^[./]/.test(module)) return pathToFileURL(resolve(folder, module)).href;
  return module.startsWith("file:") ? module : undefined;
}

/** A module that is a program: `exec:` and its path. */
const PROGRAM_PATTERN = /^exec:(.+)$/;

/** The path of the program that a module is; undefined if it is none. */
export function programPathOf({ module, folder }: NamedModule): string | undefined {
  const [, path] = PROGRAM_PATTERN.exec(module) ?? [];
  return path === undefined ? undefined : resolve(folder, path);
}

let resolutions = 0;

/**
 * The URL of a package as a module in that folder would import it. Node has no call for that, so we resolve
 * an alias, and a hook turns that into the package seen from the folder.
 */
export function packageUrlOf({ module, folder }: NamedModule): string {
  resolutions += 1;
  const alias = `drydock-strategy:${resolutions}`;
  const parentURL = pathToFileURL(importerIn(folder)).href;
  const hooks = registerHooks({
    resolve: (specifier, context, next) =>
      specifier === alias ? next(module, { ...context, parentURL }) : next(specifier, context),
  });
  try {
    return import.meta.resolve(alias);
  } finally {
    hooks.deregister();
  }
}

/** The file that errors name as the importer of a package. */
export function importerIn(folder: string): string {
  return join(folder, "drydock.yaml");
}

/** The file that is loaded for a module; undefined if there is none. */
export function filePathOf(named: NamedModule): string | undefined {
  const program = programPathOf(named);
  if (program !== undefined) return program;
  try {
    const url = fileUrlOf(named) ?? packageUrlOf(named);
    return url.startsWith("file:") ? fileURLToPath(url) : undefined;
  } catch {
    // Loading the module reports the error. A missing file can't be covered now, and is covered once it
    // exists.
    return undefined;
  }
}
