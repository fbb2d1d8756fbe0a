import { closeFile } from "../../system/calls/handles.ts";
import type { ViewSpec } from "../launch/launch-spec.ts";
import type { RunningCommandProcess } from "../launch/launcher.ts";
import { CHANNEL_FOLDER } from "../view/kernel-mounts.ts";
import type { ChannelDoor } from "./channel-door.ts";
import type { ChannelPlace } from "./channel-place.ts";

const NAME = "socket";
/**
 * How long a command runs before we listen: what that loads takes longer than a short command. Callers who
 * come sooner wait in the queue of the socket.
 */
const LISTEN_AFTER_MS = 20;

/**
 * The way by which a command inside speaks to Drydock: a socket in its view, which `DRYDOCK_SOCKET` names.
 * Through it the command can look at its plan, save it and ask a person, and nothing else
 * (serve/channel/channel-operations.ts). Each command has its own, at the same path.
 *
 * The launcher makes the socket, so no path outside leads to it. A process of its own answers
 * (serve/channel/channel-main.ts), which is started for the first caller: so nothing that comes in reaches
 * the memory or the time of this process, and a command that never calls pays nothing.
 */
export class CommandChannel implements AsyncDisposable {
  readonly #place: ChannelPlace;
  readonly #isOn: boolean;
  #unopened: { readonly listener: number; readonly timer: NodeJS.Timeout } | undefined;
  #door: Promise<ChannelDoor> | undefined;

  constructor(place: ChannelPlace, isOn: boolean) {
    this.#place = place;
    this.#isOn = isOn;
  }

  /** What the launcher makes; undefined for a command without a channel. */
  get spec(): ViewSpec["channel"] {
    return this.#isOn ? { folder: CHANNEL_FOLDER, name: NAME } : undefined;
  }

  /**
   * The variable that names the socket. The state directory can't be reached inside, so no variable leads
   * there: one that the command sets means a state of its own.
   */
  get variables(): { readonly [name: string]: string | undefined } {
    if (!this.#isOn) return { DRYDOCK_SOCKET: undefined };
    return { DRYDOCK_SOCKET: `${CHANNEL_FOLDER}/${NAME}`, DRYDOCK_STATE_DIR: undefined };
  }

  /** Opens the channel of a command that has just started. To be called at once. */
  open(running: RunningCommandProcess): void {
    if (!this.#isOn) return;
    const listener = running.takeSocket();
    this.#unopened = { listener, timer: setTimeout(() => this.#listen(listener), LISTEN_AFTER_MS) };
  }

  #listen(listener: number): void {
    this.#unopened = undefined;
    this.#door = import("./channel-door.ts").then(({ ChannelDoor }) =>
      ChannelDoor.open(this.#place, listener),
    );
  }

  /** Ends what callers started. */
  async [Symbol.asyncDispose](): Promise<void> {
    const unopened = this.#unopened;
    const door = this.#door;
    this.#unopened = undefined;
    this.#door = undefined;
    if (unopened !== undefined) {
      clearTimeout(unopened.timer);
      closeFile(unopened.listener);
    }
    await (await door)?.close();
  }
}
