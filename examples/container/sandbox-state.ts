import { createHash } from "node:crypto";
import {
  closeSync,
  existsSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import type { SandboxRef } from "drydock-sandbox/strategy";

/** What is known of a sandbox everywhere. */
export type Metadata = {
  /** Its folder in the state directory. */
  readonly folder: string;
  /** The name of the image that is the original. */
  readonly image: string;
};
export type ContainerRef = SandboxRef<Metadata>;

export interface State {
  /** The id of the image that the work is compared with. */
  readonly base: string;
  /** The image that the container with the work was made from: a name of ours. */
  readonly madeFrom: string;
  /** The number of that container. A restore makes another one. */
  readonly container: number;
  /**
   * Paths at which the image that the container was made from, or one that has landed, may differ from the
   * base. More than that do no harm: each is compared.
   */
  readonly since: readonly string[];
  /** The ids of images that landed from here, noted before their names go. */
  readonly landed: readonly string[];
}

/**
 * The files of a sandbox:
 *
 *   state.json          which images and which container it is; written last, so it says that it is whole
 *   checkpoint-ID.json  the paths that may have changed by then; the rest of a checkpoint is an image
 */
export class SandboxState {
  readonly #folder: string;

  constructor({ metadata }: ContainerRef) {
    this.#folder = metadata.folder;
  }

  get isWhole(): boolean {
    return existsSync(this.#at("state"));
  }

  get state(): State {
    return this.#read("state");
  }

  make(state: State): void {
    mkdirSync(this.#folder, { recursive: true, mode: 0o700 });
    this.save(state);
  }

  save(state: State): void {
    this.#write("state", state);
  }

  saveCheckpoint(id: string, paths: readonly string[]): void {
    this.#write(`checkpoint-${id}`, paths);
  }

  checkpoint(id: string): readonly string[] {
    return this.#read(`checkpoint-${id}`);
  }

  dropCheckpoint(id: string): void {
    rmSync(this.#at(`checkpoint-${id}`), { force: true });
  }

  remove(): void {
    rmSync(this.#folder, { recursive: true, force: true });
  }

  #at(name: string): string {
    return join(this.#folder, `${name}.json`);
  }

  #read<T>(name: string): T {
    return JSON.parse(readFileSync(this.#at(name), "utf8")) as T;
  }

  /** At no moment is the file missing or half written, and when this returns it is on disk. */
  #write(name: string, value: unknown): void {
    const path = this.#at(name);
    flushed(`${path}.new`, "w", (file) => writeFileSync(file, JSON.stringify(value)));
    renameSync(`${path}.new`, path);
    flushed(dirname(path), "r");
  }
}

/** The names that a sandbox gives to images and containers. All begin alike, so that all can be found. */
export class Names {
  /** Of images: `:first`, `:checkpoint-ID`, `:landing-ID`, `:before-ID`, `:theirs-ID`. */
  readonly repository: string;
  /** Of containers. */
  readonly prefix: string;

  constructor(ref: ContainerRef) {
    const digest = createHash("sha256").update(`${ref.metadata.folder}\0${ref.sandboxId}`).digest("hex");
    this.prefix = `drydock-${digest.slice(0, 16)}-`;
    this.repository = `localhost/drydock/${digest.slice(0, 16)}`;
  }

  image(tag: string): string {
    return `${this.repository}:${tag}`;
  }

  /** The container with the work. */
  work(number: number): string {
    return `${this.prefix}work-${number}`;
  }

  /** A container that is never started, by which the files of an image can be read. */
  reader(imageId: string): string {
    return `${this.prefix}base-${imageId.slice(0, 16)}`;
  }
}

function flushed(path: string, flags: "r" | "w", use: (file: number) => void = () => undefined): void {
  const file = openSync(path, flags, 0o600);
  try {
    use(file);
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
}
