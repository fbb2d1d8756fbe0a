import { createHash, timingSafeEqual } from "node:crypto";
import type { IncomingMessage } from "node:http";
import { RequestError } from "./problem.ts";

/** What lets a request in. */
export interface GuardOptions {
  /** The hosts by which clients may call this server, without port; a page elsewhere has another one. */
  readonly hosts: readonly string[];
  /** What callers have to know; without one, the rights of the socket decide. */
  readonly token?: string;
}

/**
 * Refuses requests that come from elsewhere. A web page that the user looks at can send requests to servers
 * on this machine: its browser names the page's host (after DNS rebinding) or origin, which are not ours.
 */
export class Guard {
  readonly #hosts: ReadonlySet<string>;
  readonly #token: Buffer | undefined;

  constructor({ hosts, token }: GuardOptions) {
    this.#hosts = new Set(hosts);
    this.#token = token === undefined ? undefined : digestOf(token);
  }

  assertAllowed({ headers }: Pick<IncomingMessage, "headers">): void {
    const { host = "", origin, authorization = "" } = headers;
    if (!this.#hosts.has(nameIn(host)))
      throw new RequestError([403, "FOREIGN_HOST"], "This server has another name.", {
        hint: `Call it by ${[...this.#hosts].join(" or ")}.`,
      });
    if (origin !== undefined && origin !== `http://${host}`)
      throw new RequestError([403, "FOREIGN_ORIGIN"], "Pages of other sites can't use this server.", {
        hint: "Call it from a program, without the header Origin.",
      });
    if (this.#token === undefined) return;
    const [, given = ""] = /^Bearer +(\S+)$/i.exec(authorization) ?? [];
    // Digests have one length, so the comparison takes the same time for every token.
    if (timingSafeEqual(digestOf(given), this.#token)) return;
    throw new RequestError([401, "NO_TOKEN"], "The token of this server is missing or wrong.", {
      hint: "Send the header 'Authorization: Bearer TOKEN'.",
    });
  }
}

function digestOf(token: string): Buffer {
  return createHash("sha256").update(token).digest();
}

/** A host without its port. */
function nameIn(host: string): string {
  return host.toLowerCase().replace(/:\d+$/, "");
}
