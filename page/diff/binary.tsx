import type { ComponentChildren } from "preact";
import { useEffect, useState } from "preact/hooks";
import { contentOf } from "../api/server.ts";
import type { Change } from "../api/types.ts";
import { failedReading } from "../model/review.ts";
import { counted, size } from "../text/amounts.ts";
import { Shown } from "../text/shown.tsx";

/** Images a browser shows without running anything of them. */
const IMAGES: { readonly [ending: string]: string } = {
  ...{ png: "image/png", jpg: "image/jpeg", jpeg: "image/jpeg", gif: "image/gif", webp: "image/webp" },
  ...{ avif: "image/avif", bmp: "image/bmp", ico: "image/x-icon" },
};
const LARGEST_IMAGE = 16 * 1024 * 1024;
/** How many bytes of a file are shown. */
const SHOWN_BYTES = 4096;
const ROW = 16;

interface BinaryProps {
  readonly plan: string;
  readonly change: Change;
}

type Side = "before" | "after";
type Bytes = Uint8Array<ArrayBuffer>;

/** A file that is not text: its images, or its first bytes, before and after. */
export function Binary({ plan, change }: BinaryProps): ComponentChildren {
  const type = IMAGES[/\.(\w+)$/.exec(change.path)?.[1]?.toLowerCase() ?? ""];
  const sides = (["before", "after"] as const).filter((side) => change[side] !== undefined);
  const isImage = type !== undefined && sides.every((side) => (change[side]?.size ?? 0) <= LARGEST_IMAGE);
  const [way, setWay] = useState<Way>("side by side");
  const [found, setFound] = useState<{ readonly [side in Side]?: Bytes | string }>({});
  const version = sides.map((side) => change[side]?.digest).join(" ");
  useEffect(() => {
    const reading = new AbortController();
    const { signal } = reading;
    const most = isImage ? LARGEST_IMAGE : SHOWN_BYTES;
    const keep = (side: Side, bytes: Bytes | string) =>
      setFound((before) => (signal.aborted ? before : { ...before, [side]: bytes }));
    for (const side of sides)
      contentOf(plan, change, { side, most, signal })
        .then((bytes) => keep(side, bytes))
        .catch((thrown: unknown) => keep(side, failedReading(thrown)));
    return () => reading.abort();
  }, [version]);
  const { before, after } = found;
  const canCompare = isImage && typeof before === "object" && typeof after === "object";
  return (
    <section class="binary" tabIndex={0} aria-label="The content before and after">
      {canCompare && <Ways way={way} onWay={setWay} />}
      {canCompare && way !== "side by side" ? (
        <Compared {...{ before, after, type, way }} key={`${way} ${version}`} />
      ) : (
        sides.map((side) => (
          <figure key={`${side} ${change[side]?.digest}`}>
            <figcaption>
              {side}, {size(change[side]?.size ?? 0)}
            </figcaption>
            <Content
              {...{ side, bytes: found[side], type: isImage ? type : undefined }}
              length={change[side]?.size ?? 0}
            />
          </figure>
        ))
      )}
    </section>
  );
}

interface ContentProps {
  readonly side: Side;
  readonly bytes: Bytes | string | undefined;
  /** Of an image. */
  readonly type: string | undefined;
  readonly length: number;
}

function Content({ side, bytes, type, length }: ContentProps): ComponentChildren {
  const [isBroken, setBroken] = useState(false);
  if (bytes === undefined) return <p class="empty">Reading…</p>;
  if (typeof bytes === "string")
    return (
      <p class="warning">
        <Shown text={bytes} />
      </p>
    );
  if (type === undefined || isBroken) return <Hex {...{ bytes, length }} />;
  return <Picture {...{ bytes, type, side }} onError={() => setBroken(true)} />;
}

const WAYS = ["side by side", "slider", "fade"] as const;
type Way = (typeof WAYS)[number];

/** How two images are compared. */
function Ways({ way, onWay }: { readonly way: Way; readonly onWay: (way: Way) => void }): ComponentChildren {
  return (
    <fieldset class="ways">
      <legend class="hidden">How the images are compared</legend>
      {WAYS.map((each) => (
        <button type="button" key={each} aria-pressed={each === way} onClick={() => onWay(each)}>
          {each}
        </button>
      ))}
    </fieldset>
  );
}

interface ComparedProps {
  readonly before: Bytes;
  readonly after: Bytes;
  readonly type: string;
  readonly way: Way;
}

/** The image after the change lies on the one before it, and covers as much of it as the user wants. */
function Compared({ before, after, type, way }: ComparedProps): ComponentChildren {
  const [share, setShare] = useState(50);
  const [isBroken, setBroken] = useState(false);
  const onError = () => setBroken(true);
  if (isBroken) return <p class="warning">One of the two is no image that this browser can show.</p>;
  const look = way === "slider" ? { clipPath: `inset(0 ${100 - share}% 0 0)` } : { opacity: share / 100 };
  return (
    <div class="compared">
      <input
        type="range"
        aria-label="How much is shown of the image after the change"
        value={share}
        onInput={(event) => setShare(event.currentTarget.valueAsNumber)}
      />{" "}
      {share}% after
      <div class="stage">
        <Picture {...{ bytes: before, type, side: "before", onError }} />
        <Picture {...{ bytes: after, type, side: "after", onError, look }} />
      </div>
    </div>
  );
}

interface PictureProps {
  readonly bytes: Bytes;
  readonly type: string;
  readonly side: Side;
  readonly onError: () => void;
  readonly look?: { readonly clipPath?: string; readonly opacity?: number };
}

function Picture({ bytes, type, side, onError, look = {} }: PictureProps): ComponentChildren {
  const [url, setUrl] = useState<string | undefined>(undefined);
  useEffect(() => {
    const made = URL.createObjectURL(new Blob([bytes], { type }));
    setUrl(made);
    return () => URL.revokeObjectURL(made);
  }, [bytes, type]);
  return url === undefined ? null : (
    <img src={url} alt={`${side} the change`} onError={onError} style={look} />
  );
}

/** The first bytes in hex, with those that are printable ASCII beside them. */
function Hex({ bytes, length }: { readonly bytes: Uint8Array; readonly length: number }): ComponentChildren {
  const shown = bytes.subarray(0, SHOWN_BYTES);
  const rows = Array.from({ length: Math.ceil(shown.length / ROW) }, (_, at) =>
    shown.subarray(at * ROW, (at + 1) * ROW),
  );
  const text = rows.map((row, at) => {
    const hex = Array.from(row, (byte) => byte.toString(16).padStart(2, "0")).join(" ");
    const ascii = Array.from(row, (byte) => (byte > 0x1f && byte < 0x7f ? String.fromCharCode(byte) : "."));
    return `${(at * ROW).toString(16).padStart(6, "0")}  ${hex.padEnd(ROW * 3 - 1)}  ${ascii.join("")}`;
  });
  return (
    <>
      <pre>{text.join("\n")}</pre>
      {length > shown.length && (
        <p class="more">{counted(length - shown.length, "more byte is", "more bytes are")} not shown.</p>
      )}
    </>
  );
}
