import koffi, { type KoffiFunc } from "koffi";

/** The two ends of a pipe; programs that are started don't inherit them. */
export type Pipe = readonly [reading: number, writing: number];

const O_CLOEXEC = 0o2000000;
let call: KoffiFunc<(fds: [number, number], flags: number) => number> | undefined;

/** Node makes none that can be read without waiting for its event loop. */
export function newPipe(): Pipe {
  call ??= koffi.load(null).func("int pipe2(_Out_ int *, int)");
  const fds: [number, number] = [0, 0];
  if (call(fds, O_CLOEXEC) !== 0) throw new Error(`no pipe: errno ${koffi.errno()}`);
  return fds;
}
