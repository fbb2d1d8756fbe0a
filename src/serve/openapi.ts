import { z } from "zod";
import { BASE, OPERATIONS } from "./api.ts";
import type { Operation } from "./operation.ts";
import { problemShape, progressShape } from "./shapes/machine-shapes.ts";

type Schema = { readonly [key: string]: unknown };

/** The OpenAPI document (3.1) of the API, made from the table of operations, or from some of them. */
export function openApiDocument(operations: readonly Operation[] = OPERATIONS): Schema {
  const schemas = new Schemas();
  schemas.answer(progressShape);
  const paths: { [path: string]: { [method: string]: Schema } } = {};
  for (const operation of operations) {
    const path = `${BASE}${operation.path}`;
    paths[path] = { ...paths[path], [operation.method]: described(operation, schemas) };
  }
  return {
    openapi: "3.1.0",
    info: {
      title: "Drydock",
      version: "1",
      description:
        "Change folders, checkouts and databases in isolation, look at what would change, then land all of it or none of it.",
      license: { name: "MIT", identifier: "MIT" },
    },
    servers: [{ url: "http://localhost" }],
    security: [{}, { token: [] }],
    paths,
    components: {
      securitySchemes: { token: { type: "http", scheme: "bearer" } },
      responses: {
        Problem: {
          description: "It was refused, or failed; nothing was changed unless the problem says so",
          content: { "application/problem+json": { schema: schemas.answer(problemShape) } },
        },
      },
      schemas: schemas.named,
    },
  };
}

function described(operation: Operation, schemas: Schemas): Schema {
  const { id, summary, body, answer } = operation;
  const parameters = [
    ...parametersOf(operation.parameters, "path", schemas),
    ...parametersOf(operation.query, "query", schemas),
    ...(answer.kind === "bytes" && answer.ranges === true ? [RANGE] : []),
    ...(id.startsWith("follow") ? [LAST_EVENT] : []),
  ];
  return {
    operationId: id,
    summary,
    ...(parameters.length > 0 && { parameters }),
    ...(body !== undefined && { requestBody: bodyOf(body, schemas) }),
    responses: { ...answersOf(operation, schemas), default: { $ref: "#/components/responses/Problem" } },
  };
}

/** No content type of its own: types that are made of this document would have to tell the two apart. */
const DONE =
  "Done. With 'Accept: text/event-stream' the same comes as events: progress (Progress), then done or problem.";

const RANGE = {
  name: "Range",
  in: "header",
  required: false,
  schema: { type: "string" },
  description: "One range of bytes: bytes=FIRST-LAST.",
};

const LAST_EVENT = {
  name: "Last-Event-ID",
  in: "header",
  required: false,
  schema: { type: "string" },
  description: "The id of the last event that the client got.",
};

function parametersOf(shape: z.ZodObject, where: "path" | "query", schemas: Schemas): readonly Schema[] {
  return Object.entries(shape.shape).map(([name, part]) => {
    const { description, ...schema } = schemas.input(part);
    const required = where === "path" || !part.safeParse(undefined).success;
    const isRequired = where === "path" || !(part instanceof z.ZodExactOptional || !required);
    return {
      name,
      in: where,
      required: isRequired,
      schema,
      ...(description !== undefined && { description }),
    };
  });
}

function bodyOf(body: z.ZodObject | "bytes", schemas: Schemas): Schema {
  if (body === "bytes") return { required: true, content: { "application/octet-stream": { schema: {} } } };
  const required = !body.safeParse({}).success;
  return { required, content: { "application/json": { schema: schemas.input(body) } } };
}

function answersOf({ answer }: Operation, schemas: Schemas): Schema {
  switch (answer.kind) {
    case "json":
      return {
        [answer.status]: {
          description: DONE,
          content: { "application/json": { schema: schemas.answer(answer.schema) } },
        },
      };
    case "bytes": {
      const content = { [answer.type]: { schema: {} } };
      const whole = { 200: { description: "All of it", content } };
      return answer.ranges === true ? { ...whole, 206: { description: "The range", content } } : whole;
    }
    case "events": {
      const events = Object.entries(answer.events).map(([event, shape]) => {
        const properties = { event: { const: event }, data: schemas.answer(shape) };
        return { type: "object", properties, required: ["event", "data"] };
      });
      const problem = {
        type: "object",
        properties: { event: { const: "problem" }, data: schemas.answer(problemShape) },
        required: ["event", "data"],
      };
      const description = "Server-sent events; data is JSON. A failure on the way is the last event.";
      const schema = { oneOf: [...events, problem] };
      return { 200: { description, content: { "text/event-stream": { schema } } } };
    }
  }
}

/** JSON schemas of shapes; those with a name of their own are put apart. */
class Schemas {
  readonly named: { [name: string]: Schema } = {};

  input(shape: z.core.$ZodType): Schema {
    return this.#schema(shape, "input");
  }

  /** A client must not break when an answer gets another member, so answers are open. */
  answer(shape: z.core.$ZodType): Schema {
    return this.#schema(shape, "output");
  }

  #schema(shape: z.core.$ZodType, io: "input" | "output"): Schema {
    // What comes from a query is text there, but a number or a truth for clients.
    const made = z.toJSONSchema(shape, {
      io: "output",
      unrepresentable: "any",
      override: ({ jsonSchema }) => {
        if (io === "output" && jsonSchema.additionalProperties === false)
          delete jsonSchema.additionalProperties;
      },
    });
    const {
      $schema: _,
      $defs = {},
      id,
      ...schema
    } = made as Schema & {
      $defs?: { [name: string]: Schema };
      id?: string;
    };
    for (const [name, { id: __, ...definition }] of Object.entries($defs))
      this.named[name] = relocated(definition);
    if (typeof id !== "string" || id === "") return relocated(schema);
    this.named[id] = relocated(schema);
    return { $ref: `#/components/schemas/${id}` };
  }
}

/** References lead to the components of the document. */
function relocated(schema: Schema): Schema {
  return JSON.parse(JSON.stringify(schema).replaceAll('"#/$defs/', '"#/components/schemas/')) as Schema;
}
