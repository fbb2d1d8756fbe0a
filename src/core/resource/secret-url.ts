import { UsageError } from "../errors/errors.ts";

/** A URL and the password that it held. Only the URL without it may be stored, logged or shown. */
export interface SplitUrl {
  readonly location: string;
  readonly secret?: string;
}

const PARTS = /^(?<scheme>[a-z][a-z0-9+.-]*:\/\/)(?<authority>[^/?#]*)(?<rest>.*)$/is;
const SECRET_PARAMETER = /^(?:password|passwd|pwd|sslpassword)$/i;

/**
 * Takes the password out of a URL: the one before the host, or a parameter of that name. Refuses a URL whose
 * password seems cut short by an unescaped character, and never shows it.
 */
export function splitSecret(url: string): SplitUrl {
  const { scheme = "", authority = "", rest = "" } = PARTS.exec(url)?.groups ?? {};
  if (scheme === "") return { location: url };
  const at = authority.lastIndexOf("@");
  const [host, path = ""] = [authority.slice(at + 1), rest.split("?", 1)[0]];
  if (/:(?!\d*$)/.test(host.replace(/^\[.*\]/, "")) || (at < 0 && path.includes("@"))) throw cutShort(scheme);
  const [user = "", ...password] = at < 0 ? [] : authority.slice(0, at).split(":");
  const query = withoutSecretParameters(rest);
  const secret =
    password.length > 0 && password.join(":") !== "" ? decoded(password.join(":")) : query.secret;
  const location = `${scheme}${user === "" ? "" : `${user}@`}${host}${query.rest}`;
  return secret === undefined ? { location } : { location, secret };
}

/** A text that may be shown: a URL that it is, or ends with, loses its password. */
export function withoutSecret(text: string): string {
  return text
    .replace(/([a-z][a-z0-9+.-]*:\/\/[^\s/?#@:]*):[^\s]*@/gi, "$1@")
    .replace(/((?:password|passwd|pwd)=)[^&#\s]*/gi, "$1…");
}

/** The text with a password in it made unreadable. */
export function hideSecret(text: string, secret: string | undefined): string {
  if (secret === undefined || secret === "") return text;
  return [secret, encodeURIComponent(secret)].reduce((shown, form) => shown.replaceAll(form, "***"), text);
}

function withoutSecretParameters(rest: string): { readonly rest: string; readonly secret?: string } {
  const start = rest.indexOf("?");
  if (start < 0) return { rest };
  const parameters = rest.slice(start + 1).split("&");
  const isSecret = (parameter: string) => SECRET_PARAMETER.test(parameter.split("=", 1)[0] ?? "");
  const found = parameters.find(isSecret);
  if (found === undefined) return { rest };
  const kept = parameters.filter((parameter) => !isSecret(parameter));
  const query = kept.length === 0 ? "" : `?${kept.join("&")}`;
  return { rest: `${rest.slice(0, start)}${query}`, secret: decoded(found.slice(found.indexOf("=") + 1)) };
}

/** Text that is not validly encoded stands for itself. */
function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch (thrown) {
    if (thrown instanceof URIError) return text;
    throw thrown;
  }
}

function cutShort(scheme: string): UsageError {
  return new UsageError(`The ${scheme} URL of a resource can't be read.`, {
    hint: "In a password write / as %2F, ? as %3F, # as %23 and @ as %40, and give the port as a number.",
    code: "BAD_URL",
  });
}
