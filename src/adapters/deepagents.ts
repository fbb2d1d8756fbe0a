import { posix } from "node:path";
import type {
  EditResult,
  FileDownloadResponse,
  FileInfo,
  FileOperationError,
  FileUploadResponse,
  GrepMatch,
  ReadRawResult,
  ReadResult,
  SandboxBackendProtocolV2,
} from "deepagents";
import { DrydockError, UsageError } from "../core/errors/errors.ts";
import type { Entry } from "../core/resource/entry.ts";
import type { Plan } from "../library/plan.ts";
import { isBinaryName, pageOf, textIn, textOf, typeOf } from "./file-content.ts";
import { type AdapterOptions, PlanPaths, shellCommand } from "./plan-paths.ts";

export type { AdapterOptions } from "./plan-paths.ts";

/**
 * A plan as the backend of an agent of deepagents: its file tools and `execute` work in the plan. Files have
 * the paths of the originals; "/" stands for all resources of the plan.
 *
 * @example
 * ```ts
 * import { openDrydock } from "drydock-sandbox";
 * import { sandboxBackend } from "drydock-sandbox/deepagents";
 *
 * await using drydock = await openDrydock();
 * const plan = await drydock.plans.create({ resources: [{ location: "website" }] });
 * const backend = await sandboxBackend(plan);
 * await backend.execute("npm test");
 * ```
 */
export async function sandboxBackend(
  plan: Plan,
  options: AdapterOptions = {},
): Promise<Required<SandboxBackendProtocolV2>> {
  return new PlanBackend(plan, await PlanPaths.of(plan, options.resource), options);
}

/** Each method answers a failure that the model can do something about; others are thrown. */
class PlanBackend implements Required<SandboxBackendProtocolV2> {
  readonly id: string;
  readonly #plan: Plan;
  readonly #paths: PlanPaths;
  readonly #options: AdapterOptions;

  constructor(plan: Plan, paths: PlanPaths, options: AdapterOptions) {
    this.id = plan.id;
    this.#plan = plan;
    this.#paths = paths;
    this.#options = options;
  }

  async execute(command: string) {
    // Both outputs as one, in the order in which they were written.
    const { exitCode, stdout, truncated } = await this.#run(
      shellCommand(this.#options, `exec 2>&1\n${command}`),
    );
    return { output: textOf(stdout.bytes), exitCode, truncated: truncated.stdout };
  }

  async ls(path: string) {
    return await answered(async () => {
      if (isEverything(path)) return { files: await this.#resources() };
      const entries = await this.#paths.list(path);
      if (entries === undefined) throw missing(path);
      const folder = this.#paths.absolute(path);
      return { files: entries.map((entry) => infoOf(`${folder}/${posix.basename(entry.path)}`, entry)) };
    });
  }

  async read(path: string, offset = 0, limit = 500): Promise<ReadResult> {
    return await answered(async () => pageOf(path, await this.#content(path), { offset, limit }));
  }

  async readRaw(path: string): Promise<ReadRawResult> {
    return await answered(async () => {
      const bytes = await this.#content(path);
      const mtime = (await this.#paths.stat(path))?.mtime ?? "";
      const content = textIn(path, bytes) ?? bytes;
      return { data: { content, mimeType: typeOf(path, content), created_at: mtime, modified_at: mtime } };
    });
  }

  async write(path: string, content: string) {
    return await answered(async () => {
      await this.#put(path, Buffer.from(content, isBinaryName(path) ? "base64" : "utf8"));
      return { path, filesUpdate: null };
    });
  }

  async edit(path: string, old: string, fresh: string, replaceAll = false): Promise<EditResult> {
    return await answered(async () => {
      const text = textIn(path, await this.#content(path));
      if (text === undefined) throw new UsageError(`'${path}' is no text.`);
      const occurrences = countOf(text, old);
      if (occurrences === 0) throw new UsageError(`'${path}' does not hold the text to replace.`);
      if (occurrences > 1 && !replaceAll)
        throw new UsageError(
          `'${path}' holds the text to replace ${occurrences} times: give more of it, or set replaceAll.`,
        );
      // Not String.replace, to which a dollar sign in the new text means something.
      await this.#put(path, Buffer.from(old === "" ? fresh : text.split(old).join(fresh)));
      return { path, filesUpdate: null, occurrences };
    });
  }

  async grep(pattern: string, path?: string | null, glob?: string | null, maxCount?: number | null) {
    return await answered(async () => {
      const include = glob === undefined || glob === null ? [] : [`--include=${glob}`];
      const found = await this.#run([
        ...[
          "grep",
          "--recursive",
          "--line-number",
          "--with-filename",
          "--null",
          "--binary-files=without-match",
        ],
        ...[...include, "--fixed-strings", "--regexp", pattern, "--", ...this.#bases(path ?? "/")],
      ]);
      // It ends with 1 where nothing matches, and with 2 also where it could not read one file of many.
      const output = textOf(found.stdout.bytes);
      if (found.exitCode > 1 && output === "") throw new UsageError(textOf(found.stderr.bytes).trim());
      const matches = matchesIn(output, found.truncated.stdout);
      const most = maxCount ?? Number.POSITIVE_INFINITY;
      const isCut = found.truncated.stdout || matches.length > most;
      return { matches: matches.slice(0, most), ...(isCut && { truncated: true }) };
    });
  }

  async glob(pattern: string, path = "/") {
    return await answered(async () => {
      const files: FileInfo[] = [];
      for (const base of this.#bases(path)) {
        const place = await this.#paths.followed(base, {});
        if ((await place.workspace.stat(place.path))?.kind !== "directory") throw missing(base);
        for await (const entry of this.#paths.walk(place, { recursive: true })) {
          const inside = posix.relative(place.path, entry.path);
          if (entry.kind !== "directory" && posix.matchesGlob(inside, pattern.replace(/^\/+/, "")))
            files.push(infoOf(`${base}/${inside}`, entry));
        }
      }
      return { files };
    });
  }

  async delete(path: string) {
    return await answered(async () => {
      const { workspace, path: inside } = this.#paths.place(path);
      if ((await workspace.stat(inside)) === undefined) throw missing(path);
      await workspace.remove(inside, { recursive: true });
      return { path, filesUpdate: null };
    });
  }

  async uploadFiles(files: [string, Uint8Array][]): Promise<FileUploadResponse[]> {
    return await Array.fromAsync(files, async ([path, content]) => ({
      path,
      error: await this.#errorOf(path, async () => this.#put(path, content)),
    }));
  }

  async downloadFiles(paths: string[]): Promise<FileDownloadResponse[]> {
    return await Array.fromAsync(paths, async (path) => {
      let content: Uint8Array | null = null;
      const error = await this.#errorOf(path, async () => {
        content = await this.#content(path);
      });
      return { path, content, error };
    });
  }

  async #run(command: readonly string[]) {
    return await this.#plan.run({ ...this.#options.commands, command, cwd: this.#paths.folder });
  }

  async #content(path: string): Promise<Uint8Array> {
    const bytes = await this.#paths.read(path);
    if (bytes === undefined) throw missing(path);
    return bytes;
  }

  async #put(path: string, content: Uint8Array): Promise<void> {
    const place = this.#paths.place(path);
    await place.workspace.writeFile(place.path, content);
  }

  /** The folders that a path of the model means. */
  #bases(path: string): readonly string[] {
    if (isEverything(path)) return this.#paths.locations;
    this.#paths.place(path);
    return [this.#paths.absolute(path)];
  }

  async #resources(): Promise<FileInfo[]> {
    return await Array.fromAsync(this.#paths.locations, async (location) => {
      const entry = await this.#paths.stat(location);
      return entry === undefined ? { path: location } : infoOf(location, entry);
    });
  }

  async #errorOf(path: string, action: () => Promise<void>): Promise<FileOperationError | null> {
    try {
      await action();
      return null;
    } catch (thrown) {
      if (!(thrown instanceof DrydockError)) throw thrown;
      if (thrown.code === "NO_SUCH_FILE") return "file_not_found";
      if (thrown.code !== "BAD_PATH") return "permission_denied";
      return "files" in (await this.ls(path)) ? "is_directory" : "invalid_path";
    }
  }
}

/** What a model means when it asks for the root of its world. */
function isEverything(path: string): boolean {
  return path === "/" || path === "";
}

/** The answer, or what is wrong with the question, in a sentence for the model. */
async function answered<T extends object>(answer: () => Promise<T>): Promise<T | { error: string }> {
  try {
    return await answer();
  } catch (thrown) {
    if (!(thrown instanceof DrydockError)) throw thrown;
    return { error: thrown.message };
  }
}

function missing(path: string): UsageError {
  return new UsageError(`There is no file '${path}'.`, { code: "NO_SUCH_FILE" });
}

function infoOf(path: string, { kind, size, mtime }: Entry): FileInfo {
  const isFolder = kind === "directory";
  return { path: isFolder ? `${path}/` : path, is_dir: isFolder, size, modified_at: mtime };
}

/** How often a text is in another. Nothing is once in an empty file, so that this can be filled. */
function countOf(text: string, part: string): number {
  if (part === "") return text === "" ? 1 : 0;
  return text.split(part).length - 1;
}

/** Reads what grep printed: path, NUL, number, colon, line. */
function matchesIn(output: string, isCut: boolean): GrepMatch[] {
  const matches: GrepMatch[] = [];
  for (const line of output.split("\n")) {
    const [path = "", found] = line.split("\0", 2);
    const match = /^(\d+):(.*)$/s.exec(found ?? "");
    // Where the output was cut there is half a line on both sides.
    if (match === null) {
      if (isCut || line === "") continue;
      throw new UsageError(`grep printed '${line}'.`);
    }
    matches.push({ path, line: Number(match[1]), text: match[2] ?? "" });
  }
  return matches;
}
