import { userInfo } from "node:os";
import type { PolicyLine, SocketName } from "../../core/values/run-policy.ts";
import { realPathOf } from "../../system/data/locations.ts";
import { expanded, type PathLine } from "./path-rules.ts";

type Environment = { readonly [name: string]: string | undefined };

/** A socket that a policy can name, and the variables that lead programs to it. */
interface KnownSocket {
  readonly paths: (environment: Environment) => readonly (string | undefined)[];
  readonly variables: readonly string[];
}

const SOCKETS: { readonly [name in SocketName]: KnownSocket } = {
  ssh_agent: { paths: ({ SSH_AUTH_SOCK }) => [SSH_AUTH_SOCK], variables: ["SSH_AUTH_SOCK"] },
  gpg_agent: {
    paths: (environment) => [
      `${runtimeFolder(environment)}/gnupg/S.gpg-agent`,
      `${environment["GNUPGHOME"] ?? `${environment["HOME"]}/.gnupg`}/S.gpg-agent`,
    ],
    variables: ["GPG_AGENT_INFO"],
  },
  docker: {
    paths: (environment) => [
      "/run/docker.sock",
      `${runtimeFolder(environment)}/docker.sock`,
      "/run/podman/podman.sock",
      `${runtimeFolder(environment)}/podman/podman.sock`,
    ],
    variables: ["DOCKER_HOST"],
  },
  wayland: {
    paths: (environment) => [
      `${runtimeFolder(environment)}/${environment["WAYLAND_DISPLAY"] ?? "wayland-0"}`,
    ],
    variables: ["WAYLAND_DISPLAY"],
  },
};

/** The sockets of the host that these lines name, of those that are there. */
export function socketPaths(
  lines: readonly PolicyLine[],
  environment: Environment,
  home: string | undefined,
): readonly PathLine[] {
  return lines.flatMap((line) => {
    const known = SOCKETS[line.value as SocketName] as KnownSocket | undefined;
    const written = known?.paths(environment) ?? [expanded(line.value, home)];
    const paths = written.flatMap((path) => (path?.startsWith("/") === true ? (realPathOf(path) ?? []) : []));
    return [...new Set(paths)].map((path) => ({ ...line, path }));
  });
}

/** The variables that lead to the sockets of these lines. */
export function socketVariables(lines: readonly PolicyLine[]): readonly string[] {
  return lines.flatMap(
    ({ value }) => (SOCKETS[value as SocketName] as KnownSocket | undefined)?.variables ?? [],
  );
}

function runtimeFolder({ XDG_RUNTIME_DIR: named }: Environment): string {
  return named?.startsWith("/") === true ? named : `/run/user/${userInfo().uid}`;
}
