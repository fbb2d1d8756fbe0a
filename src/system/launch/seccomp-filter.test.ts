import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { type FilterOptions, seccompFilter } from "./seccomp-filter.ts";

const ALLOW = 0x7fff_0000;
const ERRNO = 0x0005_0000;
const X64 = 0xc000_003e;
const NEWUSER = 0x1000_0000;
const NEWNS = 0x0002_0000;

/** Does what the kernel does with the few instructions that the filter is made of. */
function run(program: Buffer, data: Buffer): number {
  let loaded = 0;
  for (let at = 0; ; at += 1) {
    const code = program.readUInt16LE(at * 8);
    const [yes, no, value] = [
      program[at * 8 + 2] ?? 0,
      program[at * 8 + 3] ?? 0,
      program.readUInt32LE(at * 8 + 4),
    ];
    if (code === 0x06) return value;
    if (code === 0x20) loaded = data.readUInt32LE(value);
    else if (code === 0x15) at += loaded === value ? yes : no;
    else if (code === 0x35) at += loaded >= value ? yes : no;
    else if (code === 0x45) at += (loaded & value) !== 0 ? yes : no;
    else assert.fail(`instruction ${code}`);
  }
}

function verdict(
  number: number,
  args: readonly number[] = [],
  { processor = X64, ...options }: Partial<FilterOptions> & { readonly processor?: number } = {},
): number {
  const program = seccompFilter("x64", { mayNestUsers: false, ...options });
  assert.ok(program !== undefined);
  const data = Buffer.alloc(64);
  data.writeUInt32LE(number, 0);
  data.writeUInt32LE(processor, 4);
  // The upper half of an argument is set, because the kernel ignores it and so must the filter.
  args.forEach((value, index) => {
    data.writeUInt32LE(value, 16 + 8 * index);
    data.writeUInt32LE(0xdead, 20 + 8 * index);
  });
  return run(program, data);
}

describe("The filter of system calls", () => {
  it("[X7] allows what programs need", () => {
    for (const number of [0, 1, 2, 57, 59, 101, 202, 257, 332])
      assert.equal(verdict(number), ALLOW, String(number));
    for (const family of [1, 2, 10, 16]) assert.equal(verdict(41, [family]), ALLOW);
    assert.equal(verdict(16, [0, 0x5413]), ALLOW);
    assert.equal(verdict(56, [0x0035_0f00 + 17]), ALLOW);
    assert.equal(verdict(272, [0x200]), ALLOW);
  });

  it("[I12] refuses connections by another call than the one that a supervisor sees", () => {
    const supervised = ["connect"] as const;
    for (const [number, at] of [
      [44, 3],
      [46, 2],
      [307, 3],
    ] as const) {
      const flags = (value: number) => Array.from({ length: 4 }, (_, each) => (each === at ? value : 0));
      assert.equal(verdict(number, flags(0x2000_4000), { supervised }), ERRNO + 95);
      assert.equal(verdict(number, flags(0x4000), { supervised }), ALLOW);
      assert.equal(verdict(number, flags(0x2000_4000)), ALLOW);
    }
  });

  it("[X7, X10] refuses terminals' input, keyrings, mounts, and sockets of other families", () => {
    for (const request of [0x5412, 0x541c]) assert.equal(verdict(16, [0, request]), ERRNO + 1);
    for (const number of [165, 166, 155, 248, 249, 250, 304, 308, 321, 428, 442])
      assert.equal(verdict(number), ERRNO + 1);
    for (const family of [17, 38, 40]) assert.equal(verdict(41, [family]), ERRNO + 97);
  });

  it("[X7] refuses new namespaces, but for a user namespace alone where the launcher needs one", () => {
    for (const flag of [NEWNS, 0x0200_0000, 0x4000_0000, 0x80, NEWUSER])
      assert.equal(verdict(272, [flag]), ERRNO + 1);
    assert.equal(verdict(272, [NEWUSER], { mayNestUsers: true }), ALLOW);
    assert.equal(verdict(272, [NEWUSER | NEWNS], { mayNestUsers: true }), ERRNO + 1);
    assert.equal(verdict(56, [NEWUSER], { mayNestUsers: true }), ERRNO + 1);
    assert.equal(verdict(435), ERRNO + 38);
  });

  it("[W2] refuses sockets of the network, and truncate, where nothing else bounds them", () => {
    for (const family of [2, 10]) assert.equal(verdict(41, [family], { noNetwork: true }), ERRNO + 97);
    for (const family of [1, 16]) assert.equal(verdict(41, [family], { noNetwork: true }), ALLOW);
    assert.equal(verdict(76, [], { noTruncate: true }), ERRNO + 1);
    assert.equal(verdict(77, [], { noTruncate: true }), ALLOW);
  });

  it("[X7] knows no second table of numbers, and no other processor", () => {
    assert.equal(verdict(0x4000_0000 + 16, [0, 0x5412]), ERRNO + 38);
    assert.equal(verdict(54, [0, 0x5412], { processor: 0x4000_0003 }), ERRNO + 38);
    assert.equal(seccompFilter("riscv64", { mayNestUsers: false }), undefined);
  });
});
