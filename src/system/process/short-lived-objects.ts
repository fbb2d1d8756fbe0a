/** Work on fewer entries fits into memory whatever V8 does. */
const MANY = 1_000;
const LEARNS = "--allocation-site-pretenuring";
const LEARNS_NOT = "--no-allocation-site-pretenuring";

/**
 * Keeps the memory of large work low. V8 learns where long-lived objects are made, and puts all that is made
 * there where only a rare, thorough look finds garbage: of the facts of 50,000 files, most are needed for a
 * moment only. So V8 is told not to learn, but only once the work turns out to be large: a V8 with other
 * settings than Node's own refuses the compiled code that Node brings of its modules, and compiling these
 * takes a small command 18 ms.
 */
export class ShortLivedObjects implements Disposable {
  #areMany = false;

  /** Call this with the number of entries that the work has handled or will handle. */
  expect(entries: number): void {
    if (this.#areMany || entries < MANY) return;
    this.#areMany = true;
    setFlag(LEARNS_NOT);
  }

  /** Compiled code that is kept from here on has to fit the settings of the next command. */
  [Symbol.dispose](): void {
    if (this.#areMany) setFlag(LEARNS);
    this.#areMany = false;
  }
}

function setFlag(flag: string): void {
  process.getBuiltinModule("node:v8").setFlagsFromString(flag);
}
