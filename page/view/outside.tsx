import type { ComponentChildren } from "preact";
import { useEffect, useState } from "preact/hooks";
import { scratchOf } from "../api/server.ts";
import type { Scratch } from "../api/types.ts";
import type { PlanModel } from "../model/plan-model.ts";
import { attempt } from "../model/review.ts";
import { counted, size } from "../text/amounts.ts";
import { Shown } from "../text/shown.tsx";

/** How many files are shown; all of them are counted. */
const MOST = 1000;

/** What commands wrote outside of the plan: it never lands. */
export function Outside({ model }: { readonly model: PlanModel }): ComponentChildren {
  const [found, setFound] = useState<Scratch | undefined>(undefined);
  const moves = model.moves.value;
  useEffect(() => {
    void attempt(async () => {
      setFound(await scratchOf(model.id));
      return undefined;
    });
  }, [model, moves]);
  if (found === undefined) return <p class="empty">Reading…</p>;
  if (found.files.length === 0)
    return <p class="empty">No command wrote anything outside of the plan's resources.</p>;
  return (
    <div class="outside">
      <p>
        {counted(found.files.length, "file was", "files were")} written outside of the plan. None of this
        lands.
      </p>
      <ul>
        {found.files.slice(0, MOST).map(({ path, bytes, kind }) => (
          <li key={path}>
            <span class="name">
              <Shown text={path} />
            </span>
            <span class="size">{kind === "file" ? size(bytes) : kind}</span>
          </li>
        ))}
      </ul>
      {found.files.length > MOST && (
        <p>{counted(found.files.length - MOST, "more file is", "more files are")} not listed here.</p>
      )}
    </div>
  );
}
