import { ConfigError } from "../../core/errors/errors.ts";
import { displayPath, isAtOrBelow } from "../../core/paths/byte-path.ts";
import type { PolicyLayer, PolicyLine } from "../../core/values/run-policy.ts";
import type { PathLine } from "./path-rules.ts";

/**
 * Whether commands get a home of the plan's own (`home.own`). It takes away, so each config can switch it on,
 * and a project's can't switch off what the user's switches on. Fails where it can't be had.
 */
export function ownHomeInForce(
  layers: readonly PolicyLayer[],
  home: string | undefined,
  resources: readonly string[],
): { readonly line?: PathLine; readonly refused: readonly PolicyLine[] } {
  const of = (wanted: PolicyLayer["owner"]) =>
    layers.flatMap(({ owner, ownHome }) => (owner === wanted && ownHome !== undefined ? [ownHome] : []));
  const [user, project] = [of("user").at(-1), of("project")];
  const said = [user, ...project].find((line) => line?.isOn === true);
  if (said === undefined) return { refused: [] };
  const { from } = said;
  if (home === undefined || home === "/")
    throw unfit(from, "HOME does not name a home that could be replaced", "Set HOME to your home.");
  const around = resources.find((resource) => isAtOrBelow(home, resource));
  if (around !== undefined)
    throw unfit(
      from,
      `your home is in ${displayPath(around)}, which the plan is about`,
      "Make the plan over a folder of your home.",
    );
  return {
    line: { value: "~", from, path: home },
    refused: user?.isOn === true ? project.filter(({ isOn }) => !isOn).map(refusal) : [],
  };
}

/** A profile names nothing that can be read in a home of the plan's own: only the user's lines do. */
export function withoutReadable({ read: { deny }, ...layer }: PolicyLayer): PolicyLayer {
  return { ...layer, read: { deny } };
}

/** In a home of the plan's own, what can be read is what could be in a denied home. */
export function withHomeDenied(
  sets: readonly (readonly PolicyLayer[])[],
): readonly (readonly PolicyLayer[])[] {
  return sets.map((layers) =>
    layers.map((layer) => {
      const { ownHome, read } = layer;
      if (ownHome?.isOn !== true) return layer;
      return { ...layer, read: { ...read, deny: [...read.deny, { value: "~", from: ownHome.from }] } };
    }),
  );
}

function refusal({ from }: { readonly from: string }): PolicyLine {
  return { value: "your home", from };
}

function unfit(from: string, why: string, hint: string): ConfigError {
  const file = from.replace(/:\d+:\d+$/, "");
  return new ConfigError(`${from}: run.home.own: ${why}.`, { file, hint });
}
