import { randomUUID } from "node:crypto";
import { type ContentFixture, RequestGate } from "drydock-sandbox/testing";
import { S3Access } from "./s3-access.ts";

/**
 * What the conformance suite works on: a new prefix in a bucket that the environment names. All that is below
 * it is deleted at the end, with all versions. If the server is spoken to in the clear, the strategy gets to
 * it through a gate, where the suite can have requests arrive late.
 */
export async function makeBucket(): Promise<ContentFixture> {
  const Bucket = process.env["DRYDOCK_S3_BUCKET"];
  if (Bucket === undefined)
    throw new Error("Set DRYDOCK_S3_BUCKET to the name of a versioned bucket for tests.");
  const access = new S3Access({ timeout_seconds: 60 }, process.env);
  const Prefix = `conformance-${randomUUID()}/`;
  const server = new URL(
    process.env["AWS_ENDPOINT_URL_S3"] ?? process.env["AWS_ENDPOINT_URL"] ?? "https://amazonaws.com",
  );
  const gate =
    server.protocol === "http:"
      ? await RequestGate.open({ host: server.hostname, port: Number(server.port || "80") })
      : undefined;
  let isFilled = false;
  const object = (path: string) => ({ Bucket, Key: `${Prefix}${path}` });
  return {
    resource: {
      id: "resource",
      name: "resource",
      type: "s3-bucket",
      location: `s3://${Bucket}/${Prefix}`,
      properties: {},
    },
    kind: "object",
    ...(gate !== undefined && {
      gate,
      environment: { AWS_ENDPOINT_URL_S3: `http://127.0.0.1:${gate.port}` },
    }),
    content: {
      list: async () => {
        const s3 = await access.client(3);
        const { Contents = [] } = await s3.listObjectsV2({ Bucket, Prefix });
        return Contents.map(({ Key = "" }) => Key.slice(Prefix.length));
      },
      read: async (path) => {
        const s3 = await access.client(3);
        const { Body } = await s3.getObject(object(path));
        return (await Body?.transformToByteArray()) ?? new Uint8Array();
      },
      write: async (path, bytes) => {
        isFilled = true;
        const s3 = await access.client(3);
        await s3.putObject({ ...object(path), Body: bytes });
      },
    },
    dispose: async () => {
      await gate?.[Symbol.asyncDispose]();
      if (!isFilled) return;
      const s3 = await access.client(3);
      const { Versions = [], DeleteMarkers = [] } = await s3.listObjectVersions({ Bucket, Prefix });
      for (const { Key, VersionId } of [...Versions, ...DeleteMarkers])
        await s3.deleteObject({ Bucket, Key, VersionId });
    },
  };
}
