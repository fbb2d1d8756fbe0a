import { type IncomingMessage, request } from "node:http";
import { json } from "node:stream/consumers";
import { type FirstEntry, firstEntry, tarOf, type WrittenEntry } from "./tar.ts";

/** A path that differs between a container and the image it was made from. */
export interface PathChange {
  /** Relative to the root. */
  readonly path: string;
  /** The path was removed; something else may be there now. */
  readonly isRemoved: boolean;
}

interface Image {
  readonly Id: string;
  readonly Config: { readonly [name in "Cmd" | "Entrypoint" | "Env"]?: readonly string[] | null };
}

interface Call {
  readonly method?: "DELETE" | "GET" | "POST" | "PUT";
  readonly query?: { readonly [name: string]: string };
  readonly body?: { readonly type: string; readonly bytes: string | Uint8Array };
  /** Answers that are no failure: the call returns undefined. */
  readonly unless?: readonly number[];
}

const REMOVED = 2;
const MISSING = 404;
const IN_USE = 409;
/** A commit of a large container takes a while; an engine that says nothing for longer hangs. */
const SILENCE_MS = 300_000;
/** What podman adds to the environment of a container, and a commit would add to the image. */
const ADDED_BY_PODMAN = ["PATH", "TERM", "HOME", "HOSTNAME", "container"];

/** The engine refused a call, or can't be reached. */
export class EngineError extends Error {
  override readonly name = "EngineError";
}

/**
 * The engine, podman or docker, by the API that both have. Every call is one request on the engine's socket,
 * and fails by the engine's own words.
 */
export class Engine {
  readonly #socket: string;
  readonly #signal: AbortSignal | undefined;

  constructor(socket: string, signal?: AbortSignal) {
    this.#socket = socket;
    this.#signal = signal;
  }

  /** Why this engine can't be used; undefined if it can. */
  async whyNot(): Promise<string | undefined> {
    const info = await this.#json<{ Driver: string; DriverStatus?: readonly string[][] }>("/info");
    const status = new Map((info?.DriverStatus ?? []).map(([name = "", value = ""]) => [name, value]));
    // Other drivers compare sizes and times of files, so that a commit can miss a change.
    const isExact = info?.Driver.startsWith("overlay") && status.get("Native Overlay Diff") !== "false";
    return isExact ? undefined : `the engine stores images by ${info?.Driver}, which can miss a change`;
  }

  /** Why there can be no container of this image; undefined if there can. */
  async whyNoContainer(name: string): Promise<string | undefined> {
    const image = await this.#image(name);
    if (image === undefined) return `there is no image ${name}`;
    const { Cmd, Entrypoint } = image.Config;
    return Cmd?.length || Entrypoint?.length
      ? undefined
      : `${name} has no command, so no container can be made`;
  }

  /** The id of the image that has this name; undefined if there is none. */
  async imageId(name: string): Promise<string | undefined> {
    return (await this.#image(name))?.Id.replace(/^sha256:/, "");
  }

  /** Gives the image with this name one more, or moves that one here. Fails if the first name is gone. */
  async tag(name: string, as: string): Promise<void> {
    const [repo, tag] = splitName(as);
    await this.#call(`/images/${name}/tag`, { method: "POST", query: { repo, tag } });
  }

  /**
   * Takes a name away; the image goes with its last name. Returns false if that name is the last one and a
   * container needs the image.
   */
  async untag(name: string): Promise<boolean> {
    const unless = [MISSING, IN_USE];
    await this.#call(`/images/${name}`, { method: "DELETE", unless });
    return (await this.imageId(name)) === undefined;
  }

  /** Makes an image of the files in an archive. */
  async importImage(name: string, files: Uint8Array, changes: string): Promise<void> {
    const [repo, tag] = splitName(name);
    const body = { type: "application/x-tar", bytes: files };
    await this.#call("/images/create", { method: "POST", query: { fromSrc: "-", repo, tag, changes }, body });
  }

  /** The tags of all images with names in this repository. */
  async tagsIn(repository: string): Promise<readonly string[]> {
    const filters = JSON.stringify({ reference: [`${repository}:*`] });
    const images = await this.#json<readonly { RepoTags?: readonly string[] }[]>("/images/json", {
      query: { filters },
    });
    return (images ?? [])
      .flatMap(({ RepoTags }) => RepoTags ?? [])
      .filter((name) => name.startsWith(`${repository}:`))
      .map((name) => name.slice(repository.length + 1));
  }

  async containersWith(prefix: string): Promise<readonly string[]> {
    const filters = JSON.stringify({ name: [`^/?${prefix}`] });
    const found = await this.#json<readonly { Names: readonly string[] }[]>("/containers/json", {
      query: { all: "true", filters },
    });
    return (found ?? []).flatMap(({ Names }) => Names.map((name) => name.replace(/^\//, "")));
  }

  /** Makes a container, which is not started, if there is none of this name. */
  async ensureContainer(name: string, image: string): Promise<void> {
    if ((await this.#call(`/containers/${name}/json`, { unless: [MISSING] })) !== undefined) return;
    if (!(await this.#isPodman())) {
      await this.#send("/containers/create", { Image: image }, { name });
      return;
    }
    const variables = (await this.#image(image))?.Config.Env ?? [];
    const own = new Set(variables.map((line) => line.split("=")[0]));
    const unsetenv = ADDED_BY_PODMAN.filter((variable) => !own.has(variable));
    await this.#send("/libpod/containers/create", { name, image, unsetenv });
  }

  /** Whether its processes can change files now. */
  async isRunning(name: string): Promise<boolean> {
    const container = await this.#json<{ State: { Running: boolean; Paused: boolean } }>(
      `/containers/${name}/json`,
      { unless: [MISSING] },
    );
    return container?.State.Running === true && !container.State.Paused;
  }

  async removeContainer(name: string): Promise<void> {
    await this.#call(`/containers/${name}`, {
      method: "DELETE",
      query: { force: "true" },
      unless: [MISSING],
    });
  }

  async changesOf(container: string): Promise<readonly PathChange[]> {
    const changes = await this.#json<readonly { Path: string; Kind: number }[] | null>(
      `/containers/${container}/changes`,
    );
    return (changes ?? []).map(({ Path, Kind }) => ({ path: Path.slice(1), isRemoved: Kind === REMOVED }));
  }

  /** Makes an image of a container as it is now, under this name. Its processes pause meanwhile. */
  async commit(container: string, as: string): Promise<void> {
    const [repo, tag] = splitName(as);
    await this.#send("/commit", {}, { container, repo, tag, pause: "true" });
  }

  /** The entry of a container at this path, followed by what is below it; undefined if there is none. */
  async archive(container: string, path: string): Promise<IncomingMessage | undefined> {
    return await this.#call(`/containers/${container}/archive`, {
      query: { path: `/${path}` },
      unless: [MISSING],
    });
  }

  async entry(container: string, path: string): Promise<FirstEntry | undefined> {
    const answer = await this.archive(container, path);
    return answer === undefined ? undefined : await firstEntry(answer);
  }

  async put(container: string, entry: WrittenEntry): Promise<void> {
    const bytes = await tarOf(entry);
    await this.#call(`/containers/${container}/archive`, {
      method: "PUT",
      query: { path: "/" },
      body: { type: "application/x-tar", bytes },
    });
  }

  async #image(name: string): Promise<Image | undefined> {
    return await this.#json<Image>(`/images/${name}/json`, { unless: [MISSING] });
  }

  async #isPodman(): Promise<boolean> {
    const version = await this.#json<{ Components?: readonly { Name: string }[] }>("/version");
    return (version?.Components ?? []).some(({ Name }) => Name.startsWith("Podman"));
  }

  async #send(path: string, body: object, query: Call["query"] = {}): Promise<void> {
    const bytes = JSON.stringify(body);
    await this.#call(path, { method: "POST", query, body: { type: "application/json", bytes } });
  }

  async #json<T>(path: string, call: Call = {}): Promise<T | undefined> {
    const answer = await this.#call(path, call);
    return answer === undefined ? undefined : ((await json(answer)) as T);
  }

  async #call(path: string, call: Call = {}): Promise<IncomingMessage | undefined> {
    const answer = await this.#request(path, call);
    const status = answer.statusCode ?? 0;
    if (status < 300 || (status === 304 && call.method !== "GET")) {
      if (call.method !== undefined) await drained(answer);
      return answer;
    }
    const said = await json(answer).catch(() => undefined);
    if (call.unless?.includes(status)) return undefined;
    const message = (said as { message?: string } | undefined)?.message ?? `it answered ${status}`;
    throw new EngineError(`The engine refused ${call.method ?? "GET"} ${path}: ${message}.`);
  }

  #request(path: string, { method = "GET", query = {}, body }: Call): Promise<IncomingMessage> {
    const search = new URLSearchParams(query).toString();
    return new Promise((resolve, reject) => {
      const sent = request({
        socketPath: this.#socket,
        method,
        // Podman's own calls need a version, and both engines know this one.
        path: `/v1.41${path}${search === "" ? "" : `?${search}`}`.replace("/v1.41/libpod", "/v4.0.0/libpod"),
        headers: body === undefined ? {} : { "content-type": body.type },
        timeout: SILENCE_MS,
        agent: false,
        ...(this.#signal !== undefined && { signal: this.#signal }),
      });
      sent.on("timeout", () => sent.destroy(new Error(`it says nothing for ${SILENCE_MS / 1000} s`)));
      sent.on("error", (cause) =>
        reject(
          new EngineError(`The engine at ${this.#socket} can't be reached: ${cause.message}.`, { cause }),
        ),
      );
      sent.on("response", resolve);
      sent.end(body?.bytes);
    });
  }
}

async function drained(answer: IncomingMessage): Promise<void> {
  for await (const _ of answer);
}

/** The repository and the tag of an image's name. */
export function splitName(name: string): readonly [string, string] {
  const at = name.lastIndexOf(":");
  return at > name.lastIndexOf("/") ? [name.slice(0, at), name.slice(at + 1)] : [name, "latest"];
}
