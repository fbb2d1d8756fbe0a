import { existsSync } from "node:fs";

export type ContainerOptions = { readonly socket?: string };

export const OPTIONS_SCHEMA = {
  type: "object",
  properties: { socket: { type: "string", description: "The path of the engine's socket." } },
  additionalProperties: false,
} as const;

const USUAL = ["/run/podman/podman.sock", "/var/run/docker.sock"];

/** The engine's socket: that of the options, of the environment, or a usual one. */
export function socketOf(
  { socket }: ContainerOptions,
  environment: { readonly [name: string]: string | undefined },
): string {
  const named = [environment["CONTAINER_HOST"], environment["DOCKER_HOST"]]
    .map((url) => /^unix:\/\/(\/.+)$/.exec(url ?? "")?.[1])
    .find((path) => path !== undefined);
  const { XDG_RUNTIME_DIR } = environment;
  const own = XDG_RUNTIME_DIR === undefined ? [] : [`${XDG_RUNTIME_DIR}/podman/podman.sock`];
  const usual = [...own, ...USUAL];
  return socket ?? named ?? usual.find((path) => existsSync(path)) ?? "/run/podman/podman.sock";
}
