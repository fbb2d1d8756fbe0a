import * as z from "zod";
import type { FleetSettings } from "./settings.ts";

const HOST_PATTERN = /^[A-Za-z0-9][A-Za-z0-9.-]*$/;
const DATABASE_PATTERN = /^postgres(?:ql)?:\/\/.+$/;
const EXAMPLE = "postgres://drydock@db1/fleet";
const LENT_PATTERN = /^(?:\/.*|[a-z][a-z0-9+.-]*:\/\/.+)$/;

/** The fleet that this machine is a host of. Without the section it is alone. */
export function fleetSection(resourceType: z.ZodType<string, string>) {
  const lent = z.strictObject(
    {
      location: z
        .string("must be text")
        .regex(LENT_PATTERN, "must be an absolute path or a URL")
        .describe("A path with everything below it, with * and **, or a URL."),
      type: resourceType.optional().describe("Only resources of this type."),
      run: z
        .boolean("must be true or false")
        .default(false)
        .describe("May commands of plans that were made elsewhere run with it?"),
    },
    "must be { location, type, run }",
  );
  return z
    .strictObject(
      {
        database: z
          .string("must be text")
          .regex(DATABASE_PATTERN, "must be the URL of a PostgreSQL database")
          .meta({ description: "The PostgreSQL database that the hosts share.", examples: [EXAMPLE] }),
        host: z
          .string("must be text")
          .regex(HOST_PATTERN, "must be a name of letters, digits, dots and dashes")
          .optional()
          .meta({
            description: "The name of this host; the machine's name if left out.",
            examples: ["web1"],
          }),
        lend: z
          .array(lent, "must be a list")
          .default([])
          .describe("What plans that were made on other hosts may use here; nothing if left out."),
      },
      "must be { database, host, lend }",
    )
    .optional()
    .meta({
      description: "Plans over several hosts, which share a PostgreSQL database.",
      examples: [{ database: EXAMPLE }],
    });
}

export function fleetFrom(fleet: z.output<ReturnType<typeof fleetSection>>): {
  readonly fleet?: FleetSettings;
} {
  if (fleet === undefined) return {};
  const { database, host, lend } = fleet;
  return {
    fleet: {
      database,
      ...(host !== undefined && { host }),
      lend: lend.map(({ location, type, run }) => ({ location, ...(type !== undefined && { type }), run })),
    },
  };
}
