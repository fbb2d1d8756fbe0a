#!/bin/sh
# Builds dist/ after `npm ci` and before `npm pack`. Without the development dependencies there is nothing to build
# with, and whatever Node happens to run npm may be too old to run a script of ours: hence a shell script that looks
# first.
cd "$(dirname "$0")/.." || exit 1
for tool in node/bin/node esbuild typescript-7; do
  if [ ! -e "node_modules/$tool" ]; then
    echo "Not built: node_modules/$tool is missing (development dependencies are not installed)."
    exit 0
  fi
done
exec node_modules/node/bin/node scripts/build.ts
