/**
 * What a bucket knows of a key: its versions and its delete markers, newest first. They come as two lists,
 * and times are too coarse to merge them by, so what is newer than some moment is told for each list by what
 * was its first entry then.
 */
export interface KeyHistory {
  readonly versions: readonly ObjectVersion[];
  readonly markers: readonly string[];
  /** Whether a marker is the newest of all: then there is no object, though there are versions. */
  readonly isDeleted: boolean;
}

export interface ObjectVersion {
  readonly id: string;
  /** Without quotes. */
  readonly etag: string;
  readonly size: number;
}

/** A moment of a key: plain data, as it is kept in records. */
export type KeyState = {
  readonly version: string | null;
  readonly marker: string | null;
  readonly isDeleted: boolean;
  /** Of the newest version. */
  readonly etag: string;
  readonly size: number;
};

export const NO_HISTORY: KeyHistory = { versions: [], markers: [], isDeleted: false };

export function stateOf({ versions: [newest], markers: [marker], isDeleted }: KeyHistory): KeyState {
  const { id, etag, size } = newest ?? { id: null, etag: "", size: 0 };
  return { version: id, marker: marker ?? null, isDeleted, etag, size };
}

/** Whether there is an object at all. */
export function isThere(state: KeyState | undefined): state is KeyState & { readonly version: string } {
  return state !== undefined && state.version !== null && !state.isDeleted;
}

/** Whether nobody wrote or deleted in between. */
export function isSame(one: KeyState, other: KeyState): boolean {
  return currentOf(one) === currentOf(other);
}

/** What came after that moment. If what was the newest then is gone, that is everything. */
export function newerThan(
  { versions, markers }: KeyHistory,
  then: Pick<KeyState, "version" | "marker">,
): { readonly versions: readonly ObjectVersion[]; readonly markers: readonly string[] } {
  const [version, marker] = [
    versions.findIndex(({ id }) => id === then.version),
    markers.indexOf(then.marker ?? ""),
  ];
  return {
    versions: version < 0 ? versions : versions.slice(0, version),
    markers: marker < 0 ? markers : markers.slice(0, marker),
  };
}

/** Nothing is nothing, whatever was there in between. */
function currentOf(state: KeyState): string | null {
  return isThere(state) ? state.version : null;
}
