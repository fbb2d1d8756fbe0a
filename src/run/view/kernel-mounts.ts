import type { ViewStep } from "../launch/launch-spec.ts";
import type { ViewMount } from "./view-mount.ts";

/** Names in /proc that concern the whole machine, see system/mount/kernel-entries.ts. */
export interface MachineEntries {
  readonly writable: readonly string[];
  readonly memory: readonly string[];
}

/** The devices that a command gets. */
const DEVICES = ["null", "zero", "full", "random", "urandom", "tty"] as const;
const DEVICE_LINKS = {
  fd: "/proc/self/fd",
  stdin: "/proc/self/fd/0",
  stdout: "/proc/self/fd/1",
  stderr: "/proc/self/fd/2",
  ptmx: "pts/ptmx",
} as const;
const DEV = "/dev";
const SHARED_MEMORY = "/dev/shm";
/** Where each command has its own channel, if it has one: run/channel/command-channel.ts. */
export const CHANNEL_FOLDER = "/dev/drydock";

/**
 * A /proc with the command's own processes. For root, entries that could change the machine are read-only,
 * and entries that show its memory are covered.
 */
export function procMounts(privileged: boolean, { writable, memory }: MachineEntries): readonly ViewMount[] {
  const flags = { noSetid: true, noDevices: true, noPrograms: true };
  const machine: readonly ViewStep[] = [
    ...writable.map(
      (name): ViewStep => ({ step: "self-bind", at: `/proc/${name}`, flags: { readOnly: true } }),
    ),
    ...memory.map(
      (name): ViewStep => ({
        step: "bind",
        at: `/proc/${name}`,
        from: "/dev/null",
        flags: { readOnly: true },
      }),
    ),
  ];
  const proc: ViewStep = {
    ...{ step: "system", at: "/proc", type: "proc", settings: [], flags },
    ...(!privileged && { orHost: true }),
  };
  return [{ at: "/proc", steps: [proc, ...(privileged ? machine : [])] }];
}

/** Covers the channel of another command, whose view this one joins. */
export function channelCover(): ViewStep {
  return { step: "memory", at: CHANNEL_FOLDER, entries: [] };
}

/** A small /dev with its own terminals and shared memory. */
export function devMounts(): readonly ViewMount[] {
  const flags = { noSetid: true, noPrograms: true };
  return [
    {
      at: DEV,
      steps: [
        {
          step: "memory",
          at: DEV,
          entries: [
            ...DEVICES.map((path) => ({ kind: "file", path }) as const),
            ...Object.entries(DEVICE_LINKS).map(([path, to]) => ({ kind: "link", path, to }) as const),
            ...["pts", "shm", CHANNEL_FOLDER.slice(DEV.length + 1)].map(
              (path) => ({ kind: "folder", path }) as const,
            ),
          ],
        },
        ...DEVICES.map(
          (name): ViewStep => ({ step: "bind", at: `${DEV}/${name}`, from: `${DEV}/${name}`, flags: {} }),
        ),
        {
          step: "system",
          at: `${DEV}/pts`,
          type: "devpts",
          settings: [
            ["ptmxmode", "0666"],
            ["mode", "0620"],
          ],
          flags,
        },
      ],
    },
    {
      at: SHARED_MEMORY,
      isWritable: true,
      isEmpty: true,
      steps: [
        {
          step: "system",
          at: SHARED_MEMORY,
          type: "tmpfs",
          settings: [["mode", "1777"]],
          flags: { ...flags, noDevices: true },
        },
      ],
    },
  ];
}
