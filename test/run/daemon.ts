import { chmodSync, mkdirSync, mkdtempSync } from "node:fs";
import { createServer } from "node:net";
import { dirname, join } from "node:path";
import { removeFolder } from "../support/remove-folder.ts";

/** A program of the host that listens at a socket, in a folder of its own. */
export class Daemon implements Disposable {
  readonly path: string;
  readonly folder: string;
  readonly #server = createServer();

  constructor(parent: string, name = "socket") {
    this.folder = mkdtempSync(join(parent, "drydock-daemon-"));
    this.path = join(this.folder, name);
    mkdirSync(dirname(this.path), { recursive: true });
    this.#server.listen(this.path);
    for (const path of [this.folder, dirname(this.path), this.path]) chmodSync(path, 0o777);
  }

  [Symbol.dispose](): void {
    this.#server.close();
    removeFolder(this.folder);
  }
}

/** Succeeds if the socket that follows can be reached. The kernel takes a connection before its program. */
export const CONNECT = "perl -MIO::Socket::UNIX -e 'exit !IO::Socket::UNIX->new(Peer => $ARGV[0])'";
