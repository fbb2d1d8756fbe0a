import { UsageError } from "drydock-sandbox/strategy";

const SCHEME = "image://";
const NAME = /^[a-z0-9][a-z0-9._-]*(?::\d+)?(?:\/[a-z0-9][a-z0-9._-]*)*(?::\w[\w.-]{0,127})?$/;

/** The full name of the image that a location such as `image://localhost/app` stands for. */
export function imageNameOf(location: string): string {
  const name = location.startsWith(SCHEME) ? location.slice(SCHEME.length) : "";
  if (!NAME.test(name))
    throw new UsageError(`${location} is no image.`, {
      hint: "Write image://NAME or image://NAME:TAG, as podman images lists it.",
    });
  return name.lastIndexOf(":") > name.lastIndexOf("/") ? name : `${name}:latest`;
}

/** The path that the engine knows it by, relative to the root. */
export function assertInside(path: string): string {
  if (path !== "." && path.isWellFormed() && !path.includes("\0")) return path;
  throw new UsageError(`'${path.toWellFormed()}' is the path of no file.`, {
    hint: "Give a path inside of the image.",
    code: "BAD_PATH",
  });
}
