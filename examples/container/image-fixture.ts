import { randomUUID } from "node:crypto";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type ContentFixture, RequestGate } from "drydock-sandbox/testing";
import { Engine } from "./engine.ts";
import { socketOf } from "./engine-socket.ts";
import { firstContent, namesIn, tarOf } from "./tar.ts";

const FILE = { mode: 0o644, uid: 0, gid: 0 };
/** An image can't be empty. */
const OWN = "conformance";

/**
 * What the conformance suite works on: a new image in the engine that the environment names. The strategy
 * gets to the engine through a gate, where the suite can have requests arrive late.
 */
export async function makeImage(): Promise<ContentFixture> {
  const id = randomUUID();
  const [image, socket] = [`localhost/conformance-${id}:latest`, socketOf({}, process.env)];
  const engine = new Engine(socket);
  const files = await tarOf({ ...FILE, path: OWN, bytes: Buffer.from("conformance\n") });
  await engine.importImage(image, files, "CMD /bin/true");
  const gateAt = join(tmpdir(), `gate-${id.slice(0, 8)}.sock`);
  const gate = await RequestGate.open({ path: socket }, gateAt);
  const open = new Map<string, string>();
  /** Names of the images that had the name before: one without a name would stay. */
  const earlier: string[] = [];
  /** A container of the image, to look at its files, or to change them until `settle` commits it. */
  const container = async (use: "read" | "write"): Promise<string> => {
    const key = use === "read" ? `${await engine.imageId(image)}` : use;
    const name = open.get(key) ?? `conformance-${randomUUID()}`;
    if (!open.has(key)) await engine.ensureContainer(name, image);
    open.set(key, name);
    return name;
  };
  return {
    resource: {
      id: "resource",
      name: "resource",
      type: "container-image",
      location: `image://${image}`,
      properties: {},
    },
    gate,
    environment: { CONTAINER_HOST: `unix://${gateAt}` },
    content: {
      list: async () => {
        const archive = await engine.archive(await container("read"), "");
        const names = archive === undefined ? [] : await namesIn(archive, (kind) => kind === "file");
        return names.filter((name) => name !== OWN);
      },
      read: async (path) => {
        const archive = await engine.archive(await container("read"), path);
        return (archive === undefined ? undefined : await firstContent(archive)) ?? new Uint8Array();
      },
      write: async (path, bytes) => await engine.put(await container("write"), { ...FILE, path, bytes }),
    },
    settle: async () => {
      earlier.push(image.replace("latest", `earlier-${earlier.length}`));
      await engine.tag(image, earlier.at(-1) ?? "");
      await engine.commit(await container("write"), image);
      await engine.removeContainer(await container("write"));
      open.delete("write");
    },
    dispose: async () => {
      await gate[Symbol.asyncDispose]();
      for (const name of open.values()) await engine.removeContainer(name);
      for (const name of [image, ...earlier.toReversed()]) await engine.untag(name);
    },
  };
}
