/**
 * The rights that Landlock knows, as bits, each with the version in which it came (kernel 5.13, 5.19, 6.2,
 * 6.7, 6.10, 6.12 have the versions 1 to 6). What a ruleset handles is refused unless a rule allows it. What
 * this kernel's version does not know is not handled: `docs/running.md` says what that means.
 */
export type LandlockVersion = number;

/** What a rule allows: reading, writing too, or using a device. */
export type Access = "read" | "write" | "device";

interface Right {
  readonly bit: number;
  readonly since: LandlockVersion;
  /** Whether it makes sense for a file, too. */
  readonly ofFile?: true;
  readonly for: readonly Access[];
}

const RIGHTS: { readonly [name: string]: Right } = {
  execute: { bit: 0, since: 1, ofFile: true, for: ["read", "write"] },
  write_file: { bit: 1, since: 1, ofFile: true, for: ["write", "device"] },
  read_file: { bit: 2, since: 1, ofFile: true, for: ["read", "write", "device"] },
  remove_dir: { bit: 4, since: 1, for: ["write"] },
  remove_file: { bit: 5, since: 1, for: ["write"] },
  make_char: { bit: 6, since: 1, for: [] },
  make_dir: { bit: 7, since: 1, for: ["write"] },
  make_reg: { bit: 8, since: 1, for: ["write"] },
  make_sock: { bit: 9, since: 1, for: ["write"] },
  make_fifo: { bit: 10, since: 1, for: ["write"] },
  make_block: { bit: 11, since: 1, for: [] },
  make_sym: { bit: 12, since: 1, for: ["write"] },
  refer: { bit: 13, since: 2, for: ["write"] },
  truncate: { bit: 14, since: 3, ofFile: true, for: ["write", "device"] },
  ioctl_dev: { bit: 15, since: 5, ofFile: true, for: ["device"] },
};

/** Abstract sockets, and signals. */
const SCOPES = 0b11n;
const SINCE_NETWORK = 4;
/** From this version on, a process can't reach abstract sockets outside or signal processes there. */
export const SINCE_SCOPES = 6;
/** From this version on, `truncate` needs a right. */
export const SINCE_TRUNCATE = 3;

/** struct landlock_ruleset_attr: rights over files, over the network, scopes. Older kernels know less. */
export function ruleset(version: LandlockVersion): Buffer {
  const attributes = Buffer.alloc(24);
  attributes.writeBigUInt64LE(bitsOf(Object.values(RIGHTS).filter(({ since }) => since <= version)), 0);
  if (version >= SINCE_SCOPES) attributes.writeBigUInt64LE(SCOPES, 16);
  return attributes.subarray(0, version >= SINCE_SCOPES ? 24 : version >= SINCE_NETWORK ? 16 : 8);
}

/** The rights that a rule gives. */
export function rightsOf(access: Access, isFolder: boolean, version: LandlockVersion): bigint {
  return bitsOf(
    Object.values(RIGHTS).filter(
      (right) => right.since <= version && right.for.includes(access) && (isFolder || right.ofFile === true),
    ),
  );
}

function bitsOf(rights: readonly Right[]): bigint {
  return rights.reduce((bits, { bit }) => bits | (1n << BigInt(bit)), 0n);
}
