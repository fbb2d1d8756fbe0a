#!/bin/sh
# Installs Drydock into a dev container. The tool that builds the container runs it as root, with the feature's options
# as variables: PACKAGE, and _REMOTE_USER for the user that works in it.
set -eu

package=${PACKAGE:-drydock-sandbox}
state=${DRYDOCK_STATE_FOLDER:-/var/lib/drydock}

major=$(node --version 2>/dev/null | sed 's/^v\([0-9]*\).*/\1/')
if [ "${major:-0}" -lt 24 ]; then
  echo "drydock needs Node 24 or newer: add the feature ghcr.io/devcontainers/features/node with version 24." >&2
  exit 1
fi

npm install --global --no-audit --no-fund "$package"

# The volume gets this owner when it is made.
mkdir -p "$state"
chmod 0700 "$state"
chown "${_REMOTE_USER:-root}" "$state"

drydock --version
