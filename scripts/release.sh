#!/usr/bin/env bash
# SPDX-FileCopyrightText: The Takt authors
# SPDX-License-Identifier: BSD-3-Clause
# Makes a release of the commit that is checked out: scripts/release.sh [--dry-run] VERSION
#
# Checks that the tree is clean, that include/takt/config.hpp (from which CMake reads the version), README.md and
# CHANGELOG.md have VERSION, the latter with today's date in UTC, and that the tag does not exist. Then runs
# scripts/test.sh, makes the annotated tag vVERSION, and writes dist/takt-VERSION.tar.gz and its .sha256. The same
# commit gives the same bytes. Nothing is pushed.
#
# --dry-run: runs the checks and makes the archive, without tests and without a tag.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
source scripts/lib.sh

dry=false
case ${1:-} in
  -h | --help) usage "$0" && exit ;;
  --dry-run) dry=true && shift ;;
esac
version=${1:-}
if [[ $# -ne 1 || ! $version =~ ^[0-9]+\.[0-9]+\.[0-9]+$ ]]; then usage "$0" >&2 && exit 2; fi

refuse() {
  printf 'No release: %s\n' "$*" >&2
  exit 1
}

# header_version: prints the version in the public header.
header_version() {
  local part parts=()
  for part in MAJOR MINOR PATCH; do
    parts+=("$(sed -n "s/^#define TAKT_VERSION_$part \([0-9]*\)$/\1/p" include/takt/config.hpp)")
  done
  (IFS=. && echo "${parts[*]}")
}

# entries: prints the entries of CHANGELOG.md below the heading of this version.
entries() {
  awk -v heading="## [$version] - " 'index($0, "## ") == 1 { below = index($0, heading) == 1 } below && /^- /' CHANGELOG.md
}

check() {
  local heading headings
  heading="## [$version] - $(date -u +%F)"
  [[ -z $(git status --porcelain) ]] || refuse "the tree is not clean; commit or remove what \`git status\` lists"
  [[ $(header_version) == "$version" ]] || refuse "include/takt/config.hpp says $(header_version), not $version"
  grep -qF "This is version $version." README.md || refuse "README.md does not say \"This is version $version.\""
  headings=$(grep -F "## [$version]" CHANGELOG.md || true)
  [[ $headings == "$heading" ]] || refuse "CHANGELOG.md has to have one heading \"$heading\"; it has: ${headings:-none}"
  [[ -n $(entries) ]] || refuse "CHANGELOG.md lists nothing below the heading of $version"
  ! git rev-parse -q --verify "refs/tags/v$version" >/dev/null || refuse "there is a tag v$version"
}

# archive <commit>
archive() {
  local name=takt-$version
  mkdir -p dist
  git -c tar.umask=0022 archive --format=tar --prefix="$name/" "$1" | gzip -n -9 >"dist/$name.tar.gz.part"
  mv "dist/$name.tar.gz.part" "dist/$name.tar.gz"
  (cd dist && sha256sum "$name.tar.gz" >"$name.tar.gz.sha256")
  say "dist/$name.tar.gz"
  cat "dist/$name.tar.gz.sha256"
}

check
commit=$(git rev-parse HEAD)
if ! $dry; then
  bash scripts/test.sh || refuse "scripts/test.sh failed"
  git tag -a "v$version" -m "Takt $version" "$commit"
fi
archive "$commit"
if $dry; then
  say "A dry run: no tests, no tag"
else
  say "Tagged $commit as v$version; next: git push origin v$version"
fi
