import type { ComponentChildren } from "preact";
import { useLayoutEffect, useRef, useState } from "preact/hooks";

/** The height of a row, as the style sheet has it. */
const ROW = 28;
/** Rows above and below what is visible, so that scrolling meets no gap. */
const MARGIN = 12;

interface WindowedProps<T> {
  readonly label: string;
  readonly rows: readonly T[];
  readonly keyOf: (row: T) => string;
  readonly selected: string | undefined;
  readonly onSelect: (row: T) => void;
  readonly onStep: (by: number) => void;
  readonly onFold: (row: T, wanted: "open" | "folded" | "other") => void;
  readonly draw: (row: T) => ComponentChildren;
  readonly stateOf: (row: T) => { readonly name: string; readonly level: 1 | 2; readonly isOpen?: boolean };
}

/** A list of any length, of which only the visible rows are in the document. */
export function Windowed<T>({ rows, keyOf, selected, ...props }: WindowedProps<T>): ComponentChildren {
  const list = useRef<HTMLDivElement>(null);
  const [view, setView] = useState({ top: 0, height: 800 });
  const look = () => {
    const { scrollTop = 0, clientHeight = 800 } = list.current ?? {};
    setView({ top: scrollTop, height: clientHeight });
  };
  useLayoutEffect(() => {
    look();
    const watch = new ResizeObserver(look);
    if (list.current !== null) watch.observe(list.current);
    return () => watch.disconnect();
  }, []);
  const at = rows.findIndex((row) => keyOf(row) === selected);
  useLayoutEffect(() => {
    if (list.current !== null && at >= 0) bringIntoView(list.current, at * ROW);
  }, [selected, rows.length]);
  const first = Math.max(0, Math.floor(view.top / ROW) - MARGIN);
  const last = Math.min(rows.length, Math.ceil((view.top + view.height) / ROW) + MARGIN);
  const isDrawn = at >= first && at < last;
  const keys = (event: KeyboardEvent) => {
    const page = Math.max(1, Math.floor(view.height / ROW) - 1);
    const steps: { readonly [key: string]: number } = {
      ...{ ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page },
      ...{ Home: -rows.length, End: rows.length },
    };
    const row = rows[at];
    const step = steps[event.key];
    if (step !== undefined) props.onStep(step);
    else if (row !== undefined && event.key === "ArrowRight") props.onFold(row, "open");
    else if (row !== undefined && event.key === "ArrowLeft") props.onFold(row, "folded");
    else if (row !== undefined && (event.key === "Enter" || event.key === " ")) props.onFold(row, "other");
    else return;
    event.preventDefault();
  };
  const choose = ({ target }: MouseEvent) => {
    const index =
      target instanceof Element ? target.closest("[data-at]")?.getAttribute("data-at") : undefined;
    const row = rows[Number(index ?? -1)];
    if (row === undefined) return;
    if (Number(index) === at) props.onFold(row, "other");
    props.onSelect(row);
  };
  return (
    <div
      class="windowed"
      role="tree"
      tabIndex={0}
      aria-label={props.label}
      aria-activedescendant={isDrawn ? `row-${at}` : undefined}
      ref={list}
      onScroll={look}
      onKeyDown={keys}
      onClick={choose}
    >
      <svg class="space" width="1" height={rows.length * ROW} aria-hidden="true" role="presentation" />
      {rows.slice(first, last).map((row, offset) => {
        const { name, level, isOpen } = props.stateOf(row);
        const index = first + offset;
        return (
          <Placed at={index * ROW} key={keyOf(row)}>
            <div
              id={`row-${index}`}
              data-at={index}
              role="treeitem"
              tabIndex={-1}
              class={`row ${name}`}
              aria-level={level}
              aria-selected={index === at}
              aria-posinset={index + 1}
              aria-setsize={rows.length}
              aria-expanded={isOpen}
            >
              {props.draw(row)}
            </div>
          </Placed>
        );
      })}
    </div>
  );
}

/** Puts its content at a height. By the object model, because the page allows no style in its markup. */
function Placed({ at, children }: { readonly at: number; readonly children: ComponentChildren }) {
  const element = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => {
    if (element.current !== null) element.current.style.transform = `translateY(${at}px)`;
  }, [at]);
  return (
    <div class="placed" role="presentation" ref={element}>
      {children}
    </div>
  );
}

function bringIntoView(list: HTMLElement, top: number): void {
  if (top < list.scrollTop) list.scrollTop = top;
  else if (top + ROW > list.scrollTop + list.clientHeight) list.scrollTop = top + ROW - list.clientHeight;
}
