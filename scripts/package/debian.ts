import {
  cpSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { gzipSync } from "node:zlib";
import { COMPLETION_SCRIPTS } from "../../src/cli/completion/scripts.ts";
import { manifest, run, settleModes } from "./tree.ts";

/** Where shells look for completions that a package brings. */
const COMPLETION_FILES = {
  bash: "usr/share/bash-completion/completions/drydock",
  zsh: "usr/share/zsh/vendor-completions/_drydock",
  fish: "usr/share/fish/vendor_completions.d/drydock.fish",
} as const;

/** What people read and no program does. */
const DOCUMENTS = ["README.md", "SECURITY.md", "docs"];

const ARCHITECTURES: { readonly [arch: string]: string } = { x64: "amd64", arm64: "arm64" };

/** Compiles what commands call, so that the first ones of users without the right to keep it are fast too. */
const AFTER_INSTALL = `#!/bin/sh
set -e
if [ "$1" = configure ]; then
  place=$(mktemp -d)
  mkdir "$place/folder"
  (cd "$place/folder" && HOME=$place drydock run --state-dir "$place/state" --apply -- sh -c 'echo new > file') \\
    >"$place/said" 2>&1 || echo "drydock: 'drydock doctor' says what does not work here." >&2
  rm -rf "$place"
fi
`;

/** Removes what was compiled meanwhile: it is in no list of dpkg. */
const BEFORE_REMOVAL = `#!/bin/sh
set -e
rm -rf /usr/lib/drydock/dist/.compile-cache
`;

/** Makes a Debian package of a tree; `place` is a folder for it to work in. */
export function makeDebianPackage(
  tree: string,
  place: string,
  { out, compression, time }: { readonly out: string; readonly compression: string; readonly time: string },
): string {
  const library = join(place, "usr/lib/drydock");
  const documents = join(place, "usr/share/doc/drydock");
  const put = (path: string, content: string | Buffer, mode = 0o644) => {
    mkdirSync(dirname(join(place, path)), { recursive: true });
    writeFileSync(join(place, path), content, { mode });
  };
  mkdirSync(dirname(library), { recursive: true });
  cpSync(tree, library, { recursive: true });
  mkdirSync(documents, { recursive: true });
  for (const name of DOCUMENTS) renameSync(join(library, name), join(documents, name));
  put("usr/share/doc/drydock/changelog.gz", zipped(join(library, "CHANGELOG.md")));
  put("usr/share/doc/drydock/copyright", copyright(library));
  put("usr/share/man/man1/drydock.1.gz", zipped(join(library, "dist/man/drydock.1")));
  for (const [shell, path] of Object.entries(COMPLETION_FILES))
    put(path, COMPLETION_SCRIPTS[shell as keyof typeof COMPLETION_FILES]);
  mkdirSync(join(place, "usr/bin"));
  symlinkSync("../lib/drydock/bin/drydock", join(place, "usr/bin/drydock"));
  put("DEBIAN/control", control(kibibytes(place)));
  put("DEBIAN/postinst", AFTER_INSTALL, 0o755);
  put("DEBIAN/prerm", BEFORE_REMOVAL, 0o755);
  settleModes(place);
  const file = join(out, `drydock_${manifest.version}_${architecture()}.deb`);
  // Every entry was made just now, and dpkg-deb takes this time for all that is newer.
  run("dpkg-deb", ["--root-owner-group", `-Z${compression}`, "--build", place, file], {
    SOURCE_DATE_EPOCH: time,
  });
  return file;
}

function architecture(): string {
  const known = ARCHITECTURES[process.arch];
  if (known === undefined) throw new Error(`Debian's name of the architecture ${process.arch} is not known.`);
  return known;
}

/** Node needs the libraries; what else commands need is essential in Debian. */
function control(size: number): string {
  return `Package: drydock
Version: ${manifest.version}
Architecture: ${architecture()}
Maintainer: Drydock contributors <drydock@localhost>
Installed-Size: ${size}
Depends: libc6 (>= 2.28), libgcc-s1, libstdc++6 (>= 9)
Recommends: git
Suggests: bash-completion, fuse-overlayfs
Section: devel
Priority: optional
Description: change folders, checkouts and databases in isolation, then land all or nothing
 Drydock lets an agent, a script or a person work on real folders, git checkouts
 and databases without touching them, shows what would change, and then lands
 all of it atomically or none of it, through crashes and power cuts. What landed
 can be taken back. It brings its own Node.
`;
}

function copyright(library: string): string {
  const read = (name: string) => readFileSync(join(library, name), "utf8");
  return `${read("LICENSE")}\n${"=".repeat(80)}\n\nWhat it brings:\n\n${read("THIRD-PARTY-LICENCES")}`;
}

function zipped(path: string): Buffer {
  return gzipSync(readFileSync(path), { level: 9 });
}

function kibibytes(folder: string): number {
  const sizes = readdirSync(folder, { recursive: true, withFileTypes: true }).map((entry) =>
    entry.isFile() ? Math.ceil(statSync(join(entry.parentPath, entry.name)).size / 1024) : 1,
  );
  return sizes.reduce((sum, size) => sum + size, 0);
}
