/**
 * The location of a resource on another host of a fleet: `HOST:/path` or `HOST:URL`. It stands where a path
 * or URL would, so nothing takes it for a path of this machine.
 */
const AT_HOST = /^([A-Za-z0-9][A-Za-z0-9.-]*):(\/(?!\/).*|[a-z][a-z0-9+.-]*:\/\/.*)$/s;

/** The host and the location there; undefined for a location without a host. */
export function splitHost(
  location: string,
): { readonly host: string; readonly location: string } | undefined {
  const [, host, rest] = AT_HOST.exec(location) ?? [];
  return host === undefined || rest === undefined ? undefined : { host, location: rest };
}

export function atHost(host: string, location: string): string {
  return `${host}:${location}`;
}
