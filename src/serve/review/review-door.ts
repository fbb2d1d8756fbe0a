import { randomBytes, timingSafeEqual } from "node:crypto";
import type { IncomingMessage } from "node:http";
import { Guard } from "../http/guard.ts";
import { RequestError } from "../http/problem.ts";

/**
 * Lets one browser in, and nobody else.
 *
 * The address of the page holds a token behind its `#`, which browsers send to no server. The page trades it,
 * once, for two secrets: a cookie, which no script can read, and a key, which only pages of this very port
 * can keep. A request needs both. The cookie alone would not do: browsers send it to every port of this
 * machine, and so to a server that another user has there.
 */
export class ReviewDoor {
  readonly #guard = new Guard({ hosts: ["127.0.0.1", "localhost"] });
  readonly #cookie = secret();
  readonly #key = secret();
  #token: string | undefined;

  /** What the address of the page ends with. Takes the place of an earlier token that nobody used. */
  newToken(): string {
    this.#token = secret();
    return this.#token;
  }

  /** Refuses a request of another page, or of a browser that is not the reviewer's. */
  assertAllowed(incoming: Pick<IncomingMessage, "headers" | "url" | "method">): void {
    this.#guard.assertAllowed(incoming);
    if (isPublic(incoming)) return;
    const given = cookieIn(incoming.headers.cookie ?? "", cookieName(incoming.headers.host ?? ""));
    const key = String(incoming.headers["x-drydock-key"] ?? "");
    // Both are compared, so that the time tells nothing.
    const [isCookie, isKey] = [isSame(given, this.#cookie), isSame(key, this.#key)];
    if (isCookie && isKey) return;
    throw new RequestError([401, "NO_SESSION"], "This window has no access to the review.", {
      hint: "Open the address that the command printed, in the browser in which it was opened first.",
    });
  }

  /** Trades the token for the secrets. */
  exchange(token: string, host: string): { readonly key: string; readonly cookie: string } {
    if (this.#token === undefined || !isSame(token, this.#token))
      throw new RequestError([403, "TOKEN_USED"], "The address was used before, or is another review's.", {
        hint: "If that was not you, end the command. Start it again for a new address.",
      });
    this.#token = undefined;
    return {
      key: this.#key,
      cookie: `${cookieName(host)}=${this.#cookie}; HttpOnly; SameSite=Strict; Path=/`,
    };
  }
}

/** Where the page gets its secrets. */
export const SESSION_PATH = "/session";
/** Where the files of the page are, which hold no data. */
export const FILES_PATH = "/page/";

function isPublic({ url = "", method }: Pick<IncomingMessage, "url" | "method">): boolean {
  const [path = ""] = url.split("?");
  if (method === "POST") return path === SESSION_PATH;
  return method === "GET" && (path === "/" || path.startsWith(FILES_PATH));
}

function secret(): string {
  return randomBytes(32).toString("base64url");
}

/** Ports share their cookies, so each has a name of its own. */
function cookieName(host: string): string {
  return `drydock_${/:(\d+)$/.exec(host)?.[1] ?? "80"}`;
}

function cookieIn(header: string, name: string): string {
  const found = header.split("; ").find((pair) => pair.startsWith(`${name}=`));
  return found?.slice(name.length + 1) ?? "";
}

function isSame(given: string, wanted: string): boolean {
  const [a, b] = [Buffer.from(given), Buffer.from(wanted)];
  return a.length === b.length && timingSafeEqual(a, b);
}
