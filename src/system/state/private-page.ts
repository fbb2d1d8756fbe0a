import { Folder } from "../calls/folder.ts";
import { isThere, namesIn } from "../data/existence.ts";
import { realPathOf } from "../data/locations.ts";
import { writeWhole } from "../data/whole-file.ts";
import { failpoint } from "../failpoints.ts";
import { ensureStateFolder } from "./state-folder.ts";

const POINTS = {
  folder: failpoint("private-page.folder"),
  write: failpoint("private-page.write"),
  remove: failpoint("private-page.remove"),
};

const NAME = /^page-(\d+)\.html(?:\.new)?$/;

/**
 * A page that only this user can read, and that is there until it is disposed of. The arguments of a program
 * can be read by all users of a machine, so a secret address goes to a browser through such a page.
 */
export class PrivatePage implements Disposable {
  readonly path: string;
  readonly #folder: Folder;
  readonly #name = `page-${process.pid}.html`;

  /** Writes it to a folder of the state directory. Removes those that dead processes left there. */
  constructor(folder: string, html: string) {
    ensureStateFolder(POINTS.folder, folder);
    this.#folder = Folder.open(realPathOf(folder) ?? folder);
    this.path = `${this.#folder.path}/${this.#name}`;
    for (const name of namesIn(folder)) {
      const pid = NAME.exec(name)?.[1];
      if (pid !== undefined && !isThere(`/proc/${pid}`)) this.#folder.removeFile(POINTS.remove, name);
    }
    writeWhole(POINTS.write, this.#folder, this.#name, Buffer.from(html), "buffered");
  }

  [Symbol.dispose](): void {
    this.#folder.removeFile(POINTS.remove, this.#name);
    this.#folder.close();
  }
}
