import { failedWith, systemCallError } from "../calls/errno.ts";
import { calls, lastErrno, lazyCalls, PinnedBuffer } from "../calls/native.ts";

/**
 * System calls that a filter hands to a supervisor instead of making them (seccomp user notification). The
 * caller stands still until the supervisor answers; if the supervisor ends, its calls fail with ENOSYS.
 *
 * struct seccomp_notif: id, 64 bits; pid of the calling thread, 32; flags, 32; number of the call, 32;
 * processor, 32; instruction, 64; six arguments of 64 bits. The answer: id, 64; value, 64; error, 32; flags,
 * 32.
 */
export interface CallNotice {
  readonly id: bigint;
  /** The thread that called, as a pid in our namespace. */
  readonly thread: number;
  readonly number: number;
  readonly args: readonly bigint[];
}

const RECEIVE = 0xc050_2100;
const SEND = 0xc018_2101;
const IS_VALID = 0x4008_2102;
const NOTICE_BYTES = 80;
const ANSWER_BYTES = 24;
const FLAG_CONTINUE = 1;
const LABEL = "a notice";
/** The longest path that the kernel takes, with its end. */
const PATH_BYTES = 4096;
const PAGE = 4096n;

const memory = lazyCalls({
  readOther:
    "long process_vm_readv(int pid, const void *local, unsigned long locals, const void *remote, unsigned long remotes, unsigned long flags)",
});

export class CallNotices {
  readonly #listener: number;
  readonly #notice = Buffer.alloc(NOTICE_BYTES);
  readonly #answer = Buffer.alloc(ANSWER_BYTES);
  readonly #id = Buffer.alloc(8);
  readonly #path = new PinnedBuffer(PATH_BYTES);
  readonly #vectors = Buffer.alloc(48);

  /** `listener` is the descriptor that the installation of the filter returned. */
  constructor(listener: number) {
    this.#listener = listener;
  }

  /** Waits for the next call. */
  next(): CallNotice {
    for (;;) {
      const notice = this.#notice.fill(0);
      if (calls.ioctlBuffer(this.#listener, RECEIVE, notice) === 0)
        return {
          id: notice.readBigUInt64LE(0),
          thread: notice.readUInt32LE(8),
          number: notice.readInt32LE(16),
          args: [0, 1, 2, 3, 4].map((index) => notice.readBigUInt64LE(32 + 8 * index)),
        };
      const error = systemCallError(lastErrno(), "ioctl", LABEL);
      // A signal interrupted us, or the caller is gone.
      if (!failedWith(error, "EINTR", "ENOENT")) throw error;
    }
  }

  /**
   * Whether the caller still waits. What was read from its memory or its /proc before is its own if so;
   * else another process may have its pid by now.
   */
  isWaiting({ id }: CallNotice): boolean {
    this.#id.writeBigUInt64LE(id);
    return calls.ioctlBuffer(this.#listener, IS_VALID, this.#id) === 0;
  }

  /** Lets the kernel make the call, as if there were no supervisor. */
  letGo(notice: CallNotice): void {
    this.#send(notice, 0, FLAG_CONTINUE);
  }

  /** Ends the call with this error number; 0 is success. */
  answer(notice: CallNotice, errno: number): void {
    this.#send(notice, errno, 0);
  }

  /** Bytes in the caller's memory; undefined if they can't be read. */
  read({ thread }: CallNotice, address: bigint, length: number): Buffer | undefined {
    const size = Math.min(length, PATH_BYTES);
    for (const [index, value] of [BigInt(this.#path.address), BigInt(size), address, BigInt(size)].entries())
      this.#vectors.writeBigUInt64LE(value, index * 8);
    const [here, there] = [this.#vectors.subarray(0, 16), this.#vectors.subarray(16, 32)];
    const got = memory.readOther(thread, here, 1, there, 1, 0);
    return got === size ? Buffer.from(this.#path.bytes.subarray(0, size)) : undefined;
  }

  /** The bytes of a path in the caller's memory; undefined if there is none. */
  readPath({ thread }: CallNotice, address: bigint): Buffer | undefined {
    // One piece for each page: the path may end right before memory that is not there.
    const first = Number(PAGE - (address % PAGE));
    const local = [BigInt(this.#path.address), BigInt(PATH_BYTES)];
    const remote = [address, BigInt(first), address + BigInt(first), BigInt(PATH_BYTES - first)];
    for (const [index, value] of [...local, ...remote].entries())
      this.#vectors.writeBigUInt64LE(value, index * 8);
    const [here, there] = [this.#vectors.subarray(0, 16), this.#vectors.subarray(16)];
    const length = memory.readOther(thread, here, 1, there, first === PATH_BYTES ? 1 : 2, 0);
    const end = length <= 0 ? -1 : this.#path.bytes.subarray(0, length).indexOf(0);
    return end < 0 ? undefined : Buffer.from(this.#path.bytes.subarray(0, end));
  }

  /** The caller may have been killed meanwhile: then there is nothing to answer. */
  #send({ id }: CallNotice, errno: number, flags: number): void {
    this.#answer.writeBigUInt64LE(id, 0);
    this.#answer.writeBigInt64LE(0n, 8);
    this.#answer.writeInt32LE(-errno, 16);
    this.#answer.writeUInt32LE(flags, 20);
    if (calls.ioctlBuffer(this.#listener, SEND, this.#answer) === 0) return;
    const error = systemCallError(lastErrno(), "ioctl", LABEL);
    if (!failedWith(error, "ENOENT", "EINPROGRESS")) throw error;
  }
}
