import type { DefinitionChange, RecordedStatement, TableShape } from "../../server/clone/clone-changes.ts";
import { statementsOf } from "../../server/server-statements.ts";
import type { ArchivedDefinition } from "./archive-entries.ts";
import { quotedName } from "./quoting.ts";

/** A definition that differs, as an archive has it. */
type ArchivedChange = DefinitionChange<ArchivedDefinition>;

/**
 * Statements that should lead from the definitions after a change to those before it. Whether they do is
 * tried, because not every change can be taken back by statements.
 */
export function inverseStatements(
  changes: readonly ArchivedChange[],
  { before, after }: { readonly before: readonly TableShape[]; readonly after: readonly TableShape[] },
): RecordedStatement[] {
  const isColumns = ({ type, operation }: ArchivedChange) => type === "TABLE" && operation === "modified";
  const others = changes.filter((change) => !isColumns(change));
  const drops = others
    .flatMap(({ after: made }) => (made === undefined ? [] : statements(made, dropOf(made))))
    .reverse();
  const columns = changes.filter(isColumns).flatMap((change) => columnDrops(change, before, after));
  const again = others
    .filter(({ before: was }) => was !== undefined)
    .flatMap(({ before: was }) => (was === undefined ? [] : statements(was, was.sql)));
  return [...drops, ...columns, ...again];
}

/** The statements that remove a definition; an archive has none for comments and privileges. */
function dropOf({ type, sql, drop }: ArchivedDefinition): string {
  if (type === "COMMENT") return sql.replace(/^(COMMENT ON .*?) IS E?'.*$/s, "$1 IS NULL;");
  if (type !== "ACL") return drop;
  return sql
    .split("\n")
    .reverse()
    .join("\n")
    .replaceAll(
      /^(?:GRANT|REVOKE) .*? ON (.*) (TO|FROM) (.*?)(?: WITH GRANT OPTION)?;$/gm,
      (_, object, way, role) =>
        way === "TO" ? `REVOKE ALL ON ${object} FROM ${role};` : `GRANT ALL ON ${object} TO ${role};`,
    );
}

function columnDrops(
  { before, after }: ArchivedChange,
  tablesBefore: readonly TableShape[],
  tablesAfter: readonly TableShape[],
): RecordedStatement[] {
  if (before === undefined || after === undefined) return [];
  const of = (tables: readonly TableShape[], { schema, name }: ArchivedDefinition) =>
    tables.find((table) => table.schema === schema && table.name === name);
  const [old, fresh] = [of(tablesBefore, before), of(tablesAfter, after)];
  return (fresh?.columns ?? [])
    .filter(({ name }) => old?.columns.some((column) => column.name === name) === false)
    .map(({ name }) => ({
      sql: `ALTER TABLE ONLY ${quotedName(after.schema)}.${quotedName(after.name)} DROP COLUMN ${quotedName(name)}`,
      role: after.owner,
      searchPath: "",
    }));
}

/** An entry of an archive may have several statements; the server takes one at a time. */
function statements({ owner }: ArchivedDefinition, sql: string): RecordedStatement[] {
  return statementsOf(sql, "postgres").map((each) => ({
    sql: each.sql,
    ...(owner !== "" && { role: owner }),
    searchPath: "",
  }));
}
