import type { ComponentChildren } from "preact";
import { useEffect, useState } from "preact/hooks";
import { contentOf } from "../api/server.ts";
import type { Change } from "../api/types.ts";
import { messageOf } from "../model/review.ts";
import { counted, size } from "../text/amounts.ts";

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

/** A file that is not text: its images, or its first bytes, before and after. */
export function Binary({ plan, change }: BinaryProps): ComponentChildren {
  const type = IMAGES[/\.(\w+)$/.exec(change.path)?.[1]?.toLowerCase() ?? ""];
  const sides = (["before", "after"] as const).filter((side) => change[side] !== undefined);
  return (
    <section class="binary" tabIndex={0} aria-label="The content before and after">
      {sides.map((side) => (
        <BinarySide {...{ plan, change, side, type }} key={`${side} ${change[side]?.digest}`} />
      ))}
    </section>
  );
}

interface SideProps extends BinaryProps {
  readonly side: "before" | "after";
  readonly type: string | undefined;
}

function BinarySide({ plan, change, side, type }: SideProps): ComponentChildren {
  const [bytes, setBytes] = useState<Uint8Array<ArrayBuffer> | string | undefined>(undefined);
  const length = change[side]?.size ?? 0;
  const isImage = type !== undefined && length <= LARGEST_IMAGE;
  useEffect(() => {
    const reading = new AbortController();
    const most = isImage ? LARGEST_IMAGE : SHOWN_BYTES;
    contentOf(plan, change, { side, most, signal: reading.signal })
      .then(setBytes)
      .catch((thrown: unknown) => {
        if (!reading.signal.aborted) setBytes(messageOf(thrown));
      });
    return () => reading.abort();
  }, []);
  return (
    <figure>
      <figcaption>
        {side}, {size(length)}
      </figcaption>
      {bytes === undefined && <p class="empty">Reading…</p>}
      {typeof bytes === "string" && <p class="warning">{bytes}</p>}
      {typeof bytes === "object" &&
        (isImage ? <Picture {...{ bytes, type, side }} /> : <Hex {...{ bytes, length }} />)}
    </figure>
  );
}

interface PictureProps {
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly type: string;
  readonly side: string;
}

function Picture({ bytes, type, side }: PictureProps): ComponentChildren {
  const [url, setUrl] = useState<string | undefined>(undefined);
  const [isBroken, setBroken] = useState(false);
  useEffect(() => {
    const made = URL.createObjectURL(new Blob([bytes], { type }));
    setUrl(made);
    return () => URL.revokeObjectURL(made);
  }, [bytes, type]);
  if (isBroken) return <Hex bytes={bytes} length={bytes.length} />;
  return url === undefined ? null : (
    <img src={url} alt={`${side} the change`} onError={() => setBroken(true)} />
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
