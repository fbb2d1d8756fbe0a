import knex, { type Knex } from "knex";

type Client = "pg" | "mysql2";

/** The first one changes the schema, the second one rows, by the builder and by texts with parameters. */
const MIGRATIONS: { readonly [name: string]: Knex.Migration } = {
  "1_goods": {
    up: async (db) => {
      await db.schema.createTable("goods", (table) => {
        table.increments();
        table.string("name", 50).notNullable().unique();
        table.decimal("price", 10, 2);
        table.integer("of").unsigned().references("goods.id");
      });
    },
    down: async (db) => await db.schema.dropTable("goods"),
  },
  "2_rows": {
    up: async (db) => {
      await db("goods").insert([{ name: "it's a ?" }, { name: "ä; -- \\", price: 1.5 }]);
      await db.transaction(async (inner) => {
        await inner("goods").update({ price: 2 }).where("name", "like", "it%");
      });
      const gone = db.transaction(async (inner) => {
        await inner("goods").delete();
        throw new Error("taken back");
      });
      await gone.catch(() => undefined);
      await db.raw("UPDATE goods SET price = price + ? WHERE price < ?", [0.25, 1.75]);
    },
    down: async (db) => void (await db("goods").delete()),
  },
};

/** Runs the first of these migrations that a database does not have yet; those that it has run. */
export async function migrateByKnex(client: Client, url: string, count: number): Promise<string[]> {
  const db = knex({
    client,
    connection: client === "pg" ? { connectionString: url } : url,
    pool: { max: 3 },
  });
  try {
    const names = Object.keys(MIGRATIONS).slice(0, count);
    const source: Knex.MigrationSource<string> = {
      getMigrations: async () => names,
      getMigrationName: (name) => name,
      getMigration: async (name) => MIGRATIONS[name] as Knex.Migration,
    };
    await db.migrate.latest({ migrationSource: source });
    return (await db("knex_migrations").orderBy("id")).map(({ name }: { name: string }) => name);
  } finally {
    await db.destroy();
  }
}
