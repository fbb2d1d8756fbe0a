import { isIP } from "node:net";
import { UsageError } from "../../core/errors/errors.ts";
import { displayPath } from "../../core/paths/byte-path.ts";

/** A port of this machine that leads to one of a command's own network. */
export interface PublishedPort {
  /** An address of this machine. */
  readonly host: string;
  /** 0: any that is free. */
  readonly port: number;
  /** The port of the server inside. */
  readonly inside: number;
}

const LOOPBACK = "127.0.0.1";
const MOST = 65_535;
/** `[HOST:]PORT[:INSIDE]`; the host is an address, so that it can't be taken for a port. */
const FORM =
  /^(?:(localhost|[0-9]{1,3}(?:\.[0-9]{1,3}){3}|\[[0-9A-Fa-f:.]+\]):)?([0-9]{1,5})(?::([0-9]{1,5}))?$/;

export function parsePublishedPort(text: string): PublishedPort {
  const [, host = LOOPBACK, outer = "", inner = outer] = FORM.exec(text) ?? [];
  const address = host === "localhost" ? LOOPBACK : host.replace(/^\[(.*)\]$/, "$1");
  const [port, inside] = [Number(outer), Number(inner)];
  if (outer === "" || isIP(address) === 0 || port > MOST || inside > MOST || inside === 0)
    throw new UsageError(`'${displayPath(text)}' names no port that can be published.`, {
      hint: "Write 3000, 8080:3000, 127.0.0.1:8080:3000, or 0:3000 for any port that is free.",
    });
  return { host: address, port, inside };
}

/** The place outside, as people write it. */
export function publishedAddress({ host, port }: Pick<PublishedPort, "host" | "port">): string {
  return `${isIP(host) === 6 ? `[${host}]` : host}:${port}`;
}
