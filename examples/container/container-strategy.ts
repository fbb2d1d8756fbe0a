import { join } from "node:path";
import {
  type Attention,
  type Change,
  type CommitResult,
  type DiffView,
  type PreparedCommit,
  type ProbeResult,
  type Probing,
  type Resource,
  SandboxConflictError,
  SandboxCreationError,
  SandboxStateError,
  type StrategyContext,
  sandboxIdFor,
  type Transaction,
  type TwoPhaseCapabilities,
  type TwoPhaseSandboxStrategy,
  UsageError,
} from "drydock-sandbox/strategy";
import { Engine } from "./engine.ts";
import { type ContainerOptions, OPTIONS_SCHEMA, socketOf } from "./engine-socket.ts";
import { assertInside, imageNameOf } from "./image-name.ts";
import { type ContainerRef, type Metadata, Names, SandboxState, type State } from "./sandbox-state.ts";
import { firstContent } from "./tar.ts";
import { WorkDiff } from "./work-diff.ts";

/** The ids of the images that the name of the original has before and after. */
type Switch = { readonly from: string; readonly to: string };

/** What a new file gets. */
const NEW_FILE = { mode: 0o644, uid: 0, gid: 0 };

/**
 * An image, and the files of a container that is made from it. The sandbox is a container. Prepare commits it
 * to an image with a name of ours; the landing moves the name of the original to that image, which is one
 * step of the engine, and the undo moves it back.
 *
 * A request of a killed process may still arrive. So whatever moves the name of the original names the image
 * by `landing-ID`, and giving up begins with taking that name away: a request that arrives later fails.
 */
export class ContainerStrategy implements TwoPhaseSandboxStrategy<Metadata, Switch>, Probing {
  static readonly optionsSchema = OPTIONS_SCHEMA;
  readonly name = "container";
  readonly version = "1";
  readonly capabilities: TwoPhaseCapabilities = {
    commit: "two-phase",
    undo: true,
    resourceTypes: ["container-image"],
  };
  readonly #context: StrategyContext;
  readonly #socket: string;
  /** For what has to be done to its end. */
  readonly #engine: Engine;

  constructor(context: StrategyContext, options: ContainerOptions = {}) {
    this.#context = context;
    this.#socket = socketOf(options, context.environment ?? process.env);
    this.#engine = new Engine(this.#socket);
  }

  async probe(resource: Resource): Promise<ProbeResult> {
    const reason = await this.#whyNot(imageNameOf(resource.location));
    return reason === undefined ? { works: true } : { works: false, reason };
  }

  async create(planId: string, resource: Resource): Promise<ContainerRef> {
    const sandboxId = sandboxIdFor(planId, resource.id);
    const image = imageNameOf(resource.location);
    const metadata = { folder: join(this.#context.stateDir, "containers", sandboxId), image };
    const ref = { sandboxId, planId, resourceId: resource.id, strategyName: this.name, metadata };
    const [sandbox, names] = [new SandboxState(ref), new Names(ref)];
    if (sandbox.isWhole)
      throw new SandboxStateError(`${sandboxId} is there already.`, { from: "CREATED", to: "PENDING" });
    const reason = await this.#whyNot(image);
    if (reason !== undefined) throw new SandboxCreationError(`There can be no sandbox of it: ${reason}.`);
    await this.#context.recordIntent(ref, [
      { kind: "folder", location: metadata.folder },
      { kind: "container", location: names.work(1) },
    ]);
    const first = names.image("first");
    await this.#tag("container.tag-first", image, first);
    const base = await this.#idOf(first);
    this.#context.failpoint("container.save-state");
    const state = { base, madeFrom: first, container: 1, since: [], landed: [] };
    await this.#openWork(names, state);
    sandbox.make(state);
    return ref;
  }

  async read(ref: ContainerRef, path: string): Promise<Uint8Array> {
    const { work } = await this.#open(ref);
    const archive = await this.#looking().archive(work, assertInside(path));
    const bytes = archive === undefined ? undefined : await firstContent(archive);
    if (bytes !== undefined) return bytes;
    throw new UsageError(`There is no file ${path} in the container.`, {
      hint: "See what is there with podman exec.",
      code: "NO_SUCH_FILE",
    });
  }

  async readOriginal(ref: ContainerRef, path: string): Promise<Uint8Array | undefined> {
    const { base } = await this.#open(ref);
    const archive = await this.#looking().archive(base, assertInside(path));
    return archive === undefined ? undefined : await firstContent(archive);
  }

  async write(ref: ContainerRef, path: string, bytes: Uint8Array): Promise<Change> {
    const { work } = await this.#open(ref);
    const found = await this.#engine.entry(work, assertInside(path));
    if (found?.kind === "directory")
      throw new UsageError(`${path} is a folder.`, { hint: "Give the path of a file.", code: "BAD_PATH" });
    const { mode, uid, gid } = found?.kind === "file" ? found : NEW_FILE;
    this.#context.failpoint("container.write");
    await this.#engine.put(work, { path, bytes, mode: mode & 0o7777, uid, gid });
    const operation = found === undefined ? "added" : "modified";
    return { path, operation, kind: "file", after: { size: bytes.length } };
  }

  async diff(ref: ContainerRef): Promise<DiffView> {
    const { changes } = await this.#changes(ref);
    return { changes };
  }

  async commit(ref: ContainerRef): Promise<CommitResult> {
    const id = `alone-${this.#context.now().getTime()}-${crypto.randomUUID()}`;
    const transaction: Transaction<Switch> = { id, planId: ref.planId, direction: "commit" };
    const prepared = await this.prepare(ref, transaction).catch(async (thrown) => {
      await this.rollbackPrepared(ref, transaction);
      throw thrown;
    });
    if (prepared === null) return { changes: 0, attention: [] };
    return await this.commitPrepared(ref, transaction, prepared);
  }

  async rollback(ref: ContainerRef): Promise<void> {
    const [sandbox, names] = [new SandboxState(ref), new Names(ref)];
    if (!sandbox.isWhole) return;
    const { state } = sandbox;
    const tags = await this.#engine.tagsIn(names.repository);
    const landings = tags.filter((tag) => tag.startsWith("landing-"));
    const ids = await Promise.all(landings.map((tag) => this.#idOf(names.image(tag))));
    const landed = [...new Set([...state.landed, ...ids])];
    sandbox.save({ ...state, landed });
    await this.#dropContainers(names, ({ isReader }) => isReader);
    for (const tag of landings) await this.#untag("container.untag-landing", names.image(tag));
    const [first, image] = [names.image("first"), ref.metadata.image];
    const found = await this.#engine.imageId(image);
    if (found !== undefined && landed.includes(found)) await this.#tag("container.take-back", first, image);
    // What another writer put there is what the sandbox begins with now.
    else if (found !== undefined) await this.#tag("container.tag-first", image, first);
    for (const tag of tags.filter((each) => each.startsWith("before-")))
      await this.#untag("container.untag-before", names.image(tag));
    const base = await this.#idOf(first);
    await this.#replaceWork(ref, { ...state, base, madeFrom: first, since: [], landed: [] });
  }

  async checkpoint(ref: ContainerRef, checkpointId: string): Promise<undefined> {
    const [sandbox, names] = [new SandboxState(ref), new Names(ref)];
    const { work } = await this.#open(ref);
    this.#context.failpoint("container.checkpoint");
    await this.#engine.commit(work, names.image(`checkpoint-${checkpointId}`));
    // Afterwards: a running container may change more, and more paths do no harm.
    const { paths } = await this.#candidates(ref);
    this.#context.failpoint("container.save-checkpoint");
    sandbox.saveCheckpoint(checkpointId, paths);
  }

  async restoreCheckpoint(ref: ContainerRef, checkpointId: string): Promise<void> {
    const { state } = new SandboxState(ref);
    const saved = new SandboxState(ref).checkpoint(checkpointId);
    const madeFrom = new Names(ref).image(`checkpoint-${checkpointId}`);
    await this.#replaceWork(ref, { ...state, madeFrom, since: [...new Set([...state.since, ...saved])] });
  }

  async discardCheckpoint(ref: ContainerRef, checkpointId: string): Promise<void> {
    // If the container was made from it, the image stays until the container goes.
    this.#context.failpoint("container.drop-checkpoint");
    await this.#engine.untag(new Names(ref).image(`checkpoint-${checkpointId}`));
    new SandboxState(ref).dropCheckpoint(checkpointId);
  }

  async cleanup(ref: ContainerRef): Promise<void> {
    const [sandbox, names] = [new SandboxState(ref), new Names(ref)];
    const landed = sandbox.isWhole ? sandbox.state.landed : undefined;
    await this.#dropContainers(names, () => true);
    for (const tag of await this.#engine.tagsIn(names.repository)) {
      const [kind, ...rest] = tag.split("-");
      const id = await this.#engine.imageId(names.image(`landing-${rest.join("-")}`));
      const isForUndo = landed === undefined || (id !== undefined && landed.includes(id));
      if (kind === "first" || kind === "checkpoint" || (kind === "landing" && !isForUndo))
        await this.#untag("container.cleanup", names.image(tag));
    }
    sandbox.remove();
  }

  async discardUndo(ref: ContainerRef, { id }: Transaction<Switch>): Promise<void> {
    const names = new Names(ref);
    for (const tag of [`landing-${id}`, `before-${id}`]) {
      this.#context.failpoint("container.discard-undo");
      // If a container of the user needs the earlier image, the image keeps its name.
      await this.#engine.untag(names.image(tag));
    }
  }

  async prepare(ref: ContainerRef, transaction: Transaction<Switch>): Promise<PreparedCommit<Switch> | null> {
    if (transaction.undoes !== undefined)
      return await this.#prepareUndo(ref, transaction, transaction.undoes);
    const [sandbox, names] = [new SandboxState(ref), new Names(ref)];
    await this.#assertQuiet(names.work(sandbox.state.container));
    const { work, changes, paths } = await this.#changes(ref);
    if (changes.length === 0) return null;
    const { state } = sandbox;
    await this.#assertStill(ref, state.base);
    const landing = names.image(`landing-${transaction.id}`);
    await this.#untag("container.untag-landing", landing);
    sandbox.save({ ...state, since: paths });
    await this.#tag("container.tag-before", ref.metadata.image, names.image(`before-${transaction.id}`));
    this.#context.failpoint("container.commit");
    await this.#looking().commit(work, landing);
    return { changes: changes.length, data: { from: state.base, to: await this.#idOf(landing) } };
  }

  async commitPrepared(
    ref: ContainerRef,
    { id, undoes }: Transaction<Switch>,
    { data: { from, to }, changes }: PreparedCommit<Switch>,
  ): Promise<CommitResult> {
    const names = new Names(ref);
    const [image, landing] = [ref.metadata.image, names.image(`landing-${id}`)];
    const keptAt = names.image(`theirs-${id}`);
    const found = await this.#engine.imageId(image);
    if (found !== to) {
      if (found !== undefined && found !== from) await this.#tag("container.keep-theirs", image, keptAt);
      await this.#tag("container.land", landing, image);
    }
    // Also if an earlier run, which was cut off, kept it.
    const isKept = (await this.#engine.imageId(keptAt)) !== undefined;
    const message = "another writer moved the name in the last moment";
    const attention = isKept ? [{ path: ".", message, keptAt }] : [];
    this.#rebase(ref, to, undoes === undefined ? [to] : []);
    if (undoes !== undefined) await this.#untag("container.untag-landing", landing);
    return { changes, attention };
  }

  async rollbackPrepared(
    ref: ContainerRef,
    { id, undoes }: Transaction<Switch>,
    prepared?: PreparedCommit<Switch>,
  ): Promise<readonly Attention[]> {
    const [names, image] = [new Names(ref), ref.metadata.image];
    await this.#dropContainers(names, ({ isReader }) => isReader);
    await this.#untag("container.untag-landing", names.image(`landing-${id}`));
    const before = names.image(undoes === undefined ? `before-${id}` : `landing-${undoes.id}`);
    const attention: Attention[] = [];
    if (prepared !== undefined) {
      const { from, to } = prepared.data;
      const found = await this.#engine.imageId(image);
      if (found === to) await this.#tag("container.take-back", before, image);
      else if (found !== from)
        attention.push({ path: ".", message: "another writer moved the name since", keptAt: image });
      this.#rebase(ref, from, []);
    }
    if (undoes === undefined) await this.#untag("container.untag-before", before);
    return attention;
  }

  async notes(ref: ContainerRef): Promise<readonly string[]> {
    const work = new Names(ref).work(new SandboxState(ref).state.container);
    return [`The work is in the container ${work}: start it, and run commands there by podman exec ${work}.`];
  }

  /** The undo of a landing is a switch to the image of before, under a name of this undo's own. */
  async #prepareUndo(
    ref: ContainerRef,
    transaction: Transaction<Switch>,
    { id, prepared }: NonNullable<Transaction<Switch>["undoes"]>,
  ): Promise<PreparedCommit<Switch>> {
    const names = new Names(ref);
    const { from, to } = prepared.data;
    await this.#assertStill(ref, to);
    await this.#tag(
      "container.tag-undo",
      names.image(`before-${id}`),
      names.image(`landing-${transaction.id}`),
    );
    return { changes: prepared.changes, data: { from: to, to: from } };
  }

  async #changes(ref: ContainerRef) {
    const { diff, ...found } = await this.#candidates(ref);
    return { ...found, changes: await diff.changes(found.paths) };
  }

  async #candidates(ref: ContainerRef) {
    const { work, base, state } = await this.#open(ref);
    const diff = new WorkDiff(this.#looking(), work, base);
    return { work, diff, paths: await diff.candidates(state.since) };
  }

  /** The two containers of a sandbox. A crash, or a landing, may have left one of them to be made. */
  async #open(
    ref: ContainerRef,
  ): Promise<{ readonly work: string; readonly base: string; readonly state: State }> {
    const [{ state }, names] = [new SandboxState(ref), new Names(ref)];
    const work = await this.#openWork(names, state);
    const base = names.reader(state.base);
    this.#context.failpoint("container.create-reader");
    await this.#engine.ensureContainer(base, state.base);
    return { work, base, state };
  }

  async #openWork(names: Names, { container, madeFrom }: State): Promise<string> {
    const work = names.work(container);
    this.#context.failpoint("container.create-work");
    await this.#engine.ensureContainer(work, madeFrom);
    return work;
  }

  /** From when the state is saved, the work is what is in a new container. */
  async #replaceWork(ref: ContainerRef, state: State): Promise<void> {
    const names = new Names(ref);
    const next = { ...state, container: state.container + 1 };
    this.#context.failpoint("container.save-state");
    new SandboxState(ref).save(next);
    await this.#dropContainers(names, ({ name }) => name !== names.work(next.container));
    await this.#openWork(names, next);
  }

  async #dropContainers(
    names: Names,
    isWanted: (container: { readonly name: string; readonly isReader: boolean }) => boolean,
  ): Promise<void> {
    for (const name of await this.#engine.containersWith(names.prefix)) {
      if (!isWanted({ name, isReader: name.startsWith(names.reader("")) })) continue;
      this.#context.failpoint("container.remove-container");
      await this.#engine.removeContainer(name);
    }
  }

  /** What the work is compared with from now on, if the sandbox is still there. */
  #rebase(ref: ContainerRef, base: string, landed: readonly string[]): void {
    const sandbox = new SandboxState(ref);
    if (!sandbox.isWhole) return;
    this.#context.failpoint("container.save-state");
    sandbox.save({ ...sandbox.state, base, landed: [...new Set([...sandbox.state.landed, ...landed])] });
  }

  async #assertStill(ref: ContainerRef, expected: string): Promise<void> {
    const found = await this.#engine.imageId(ref.metadata.image);
    if (found === expected) return;
    const why = found === undefined ? "another writer removed the image" : "another writer moved the name";
    throw new SandboxConflictError([{ path: ".", why }]);
  }

  /** A program in the container could write between the diff and the commit, and land what no diff showed. */
  async #assertQuiet(work: string): Promise<void> {
    if (!(await this.#engine.isRunning(work))) return;
    throw new UsageError(`The container ${work} runs, so it can change while it lands.`, {
      hint: `Stop it, or let it stand still: podman pause ${work}.`,
    });
  }

  async #whyNot(image: string): Promise<string | undefined> {
    return (await this.#looking().whyNot()) ?? (await this.#looking().whyNoContainer(image));
  }

  async #idOf(name: string): Promise<string> {
    const id = await this.#engine.imageId(name);
    if (id === undefined)
      throw new Error(`The image ${name} of this sandbox was removed by another program.`);
    return id;
  }

  async #tag(point: string, name: string, as: string): Promise<void> {
    this.#context.failpoint(point);
    await this.#engine.tag(name, as);
  }

  async #untag(point: string, name: string): Promise<void> {
    this.#context.failpoint(point);
    if (!(await this.#engine.untag(name)))
      throw new Error(
        `The name ${name} can't be taken away, because a container of another program uses it.`,
      );
  }

  /** For what the user may interrupt. */
  #looking(): Engine {
    return new Engine(this.#socket, this.#context.signal);
  }
}
