import type { ComponentChildren } from "preact";
import type { Group, Listed, ListRow } from "../model/change-list.ts";
import { CHOICES, type Choice, isSeen, nameOf, voteOn } from "../model/change-list.ts";
import type { PlanModel } from "../model/plan-model.ts";
import { amount, counted } from "../text/amounts.ts";
import { Shown } from "../text/shown.tsx";
import { Windowed } from "./windowed.tsx";

const LETTERS = { added: "A", modified: "M", deleted: "D", typechanged: "T" } as const;

/** The list of changes at the side. */
export function ChangeListView({ model }: { readonly model: PlanModel }): ComponentChildren {
  const rows = model.rows.value;
  return (
    <nav class="changes" aria-label="Changes">
      <div class="filter">
        <input
          id="filter"
          type="search"
          placeholder="Filter"
          aria-label="Filter the changes by path, operation or kind"
          value={model.filter.value}
          onInput={(event) => {
            model.filter.value = event.currentTarget.value;
          }}
          onKeyDown={(event) => {
            if (event.key === "Escape") event.currentTarget.blur();
          }}
        />
        <div class="choice">
          <Counts model={model} />
          <select
            aria-label="Which changes the list shows"
            value={model.choice.value}
            onChange={(event) => {
              model.choice.value = event.currentTarget.value as Choice;
            }}
          >
            {Object.keys(CHOICES).map((choice) => (
              <option key={choice} value={choice}>
                {choice}
              </option>
            ))}
          </select>
        </div>
      </div>
      <Windowed
        label="Changed paths"
        rows={rows}
        keyOf={({ key }) => key}
        selected={model.selected.value}
        onSelect={(row) => model.select(row)}
        onStep={(by) => model.stepRow(by)}
        onFold={(row, wanted) => fold(model, row, wanted)}
        stateOf={stateOf}
        draw={(row) => (row.row === "group" ? <GroupRow {...row} /> : <ChangeRow item={row.item} />)}
      />
    </nav>
  );
}

function fold(model: PlanModel, row: ListRow, wanted: "open" | "folded" | "other"): void {
  if (row.row === "group" && (wanted === "other" || (wanted === "open") !== row.isOpen))
    model.toggle(row.key);
}

function stateOf(row: ListRow) {
  if (row.row === "group") return { name: `group ${row.group.key}`, level: 1, isOpen: row.isOpen } as const;
  return { name: `change ${row.item.change.operation}`, level: 2 } as const;
}

/** What the list holds of all changes. Nothing is missing from it without being counted here. */
function Counts({ model }: { readonly model: PlanModel }): ComponentChildren {
  const items = model.rows.value.reduce(
    (sum, row) => sum + (row.row === "group" ? standsFor(row.group) : 0),
    0,
  );
  const [total, read] = [model.total.value, model.changes.value.length];
  const parts = [
    model.filter.value.trim() === "" && model.choice.value === "all"
      ? counted(total, "change")
      : `${amount(items)} of ${counted(total, "change")}`,
    ...(read < total ? [`${amount(read)} read so far`] : []),
  ];
  return (
    <p class="counts" role="status">
      {parts.join(", ")}
    </p>
  );
}

function standsFor({ items }: Group): number {
  return items.reduce((sum, { changes }) => sum + changes.length, 0);
}

function GroupRow({ group, isOpen }: { readonly group: Group; readonly isOpen: boolean }): ComponentChildren {
  return (
    <>
      <span class="fold" aria-hidden="true">
        {isOpen ? "▾" : "▸"}
      </span>
      <span class="title">
        <Shown text={group.title} />
      </span>
      <VoteMark vote={voteOn(group.items)} />
      <span class="count">{amount(standsFor(group))}</span>
    </>
  );
}

function ChangeRow({ item }: { readonly item: Listed }): ComponentChildren {
  const { change, rename } = item;
  const { operation, insertions = 0, deletions = 0, warnings = [] } = change;
  return (
    <>
      <span class="letter" title={rename === undefined ? operation : "renamed"}>
        {rename === undefined ? LETTERS[operation] : "R"}
      </span>
      <span class={isSeen(item) ? "name" : "name unseen"}>
        <Shown text={nameOf(item)} />
      </span>
      {warnings.length > 0 && (
        <span class="warns" title={counted(warnings.length, "warning")}>
          !
        </span>
      )}
      {insertions + deletions > 0 && (
        <span class="lines">
          {insertions > 0 && <span class="plus">+{amount(insertions)}</span>}
          {deletions > 0 && <span class="minus">−{amount(deletions)}</span>}
        </span>
      )}
      <VoteMark vote={voteOn([item])} />
    </>
  );
}

const MARKS = { approved: "✓", rejected: "✗", partly: "±" } as const;

function VoteMark({ vote }: { readonly vote: keyof typeof MARKS | undefined }): ComponentChildren {
  if (vote === undefined) return null;
  return (
    <span class={`vote ${vote}`} role="img" aria-label={vote} title={vote}>
      {MARKS[vote]}
    </span>
  );
}
