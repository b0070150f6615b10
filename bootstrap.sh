#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# bootstrap.sh - installs what building and testing Tenon needs.
#
# For Debian 12, as root or with sudo. It may be run any number of times: it
# installs what is missing and touches nothing else. Outside apt it writes one
# file, user.bazelrc (ignored by git), unless there is one already.
set -euo pipefail

# What each is for: docs/dependencies.md.
packages=(
  bazel-bootstrap git python3
  clang-22 lld-22 clang-format-22 clang-tidy-22 libclang-rt-22-dev
  llvm-22-dev llvm-22-tools libmlir-22-dev mlir-22-tools
  googletest libgtest-dev libgmock-dev libbenchmark-dev
  nlohmann-json3-dev libcli11-dev libxxhash-dev zlib1g-dev libzstd-dev
  libprotozero-dev
  libonnx-testdata
  # The repository rule for LLVM asks gcc for directories of the system.
  gcc g++
  graphviz
  cmake pkg-config
)

root=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
log=$(mktemp)
trap 'rm -f "$log"' EXIT

# One line that says what is lacking.
fail() {
  echo "bootstrap.sh: $*" >&2
  exit 1
}

# The packages among the arguments that are not installed, one per line.
missing() {
  local package status
  for package in "$@"; do
    status=$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null) ||
      status=none
    [[ $status == installed ]] || echo "$package"
  done
}

# Runs a command as root; what it prints goes to $log.
as_root() {
  if [[ $(id -u) == 0 ]]; then
    "$@" >"$log" 2>&1 </dev/null
  else
    # The log is ours, not root's.
    # shellcheck disable=SC2024
    sudo "$@" >"$log" 2>&1 </dev/null
  fi
}

# The last complaint of apt, for a message of one line.
complaint() {
  grep -E '^(E|W|Err):?' "$log" | tail -n 1 || tail -n 1 "$log"
}

check_system() {
  [[ -r /etc/os-release ]] || fail "this needs Debian 12; no /etc/os-release"
  local id version
  # shellcheck source=/dev/null
  id=$(. /etc/os-release && echo "${ID:-unknown}")
  # shellcheck source=/dev/null
  version=$(. /etc/os-release && echo "${VERSION_ID:-}")
  [[ $id == debian && $version == 12 ]] ||
    fail "this needs Debian 12; this is ${id} ${version}"
}

check_root() {
  [[ $(id -u) == 0 ]] && return
  command -v sudo >/dev/null ||
    fail "needs root or sudo to install: $*"
  # With a terminal, sudo asks for the password here and remembers it.
  if [[ -t 0 ]]; then sudo -v; else sudo -n true 2>/dev/null; fi ||
    fail "needs root, and sudo refuses, to install: $*"
}

# Those of the arguments that apt has no candidate for.
without_candidate() {
  local package policy
  for package in "$@"; do
    policy=$(LC_ALL=C apt-cache policy "$package")
    [[ $policy == *Candidate:* && $policy != *"Candidate: (none)"* ]] ||
      echo "$package"
  done
}

install_packages() {
  echo "bootstrap.sh: installing $*" >&2
  # A failing update is told only if its lists turn out to be needed: one dead
  # repository among several is not our business.
  local update=""
  as_root apt-get update -q -o APT::Update::Error-Mode=any || update=$(complaint)
  local -a none
  mapfile -t none < <(without_candidate "$@")
  if ((${#none[@]})); then
    fail "apt has no candidate for ${none[*]}" \
      "(main and security of bookworm are needed)${update:+; $update}"
  fi
  as_root env DEBIAN_FRONTEND=noninteractive apt-get install -q -y \
    --no-install-recommends "$@" ||
    fail "apt-get install failed: $(complaint)"
}

# Settings of this checkout that depend on the machine.
write_bazelrc() {
  [[ -e $root/user.bazelrc ]] && return
  local home=${HOME:-}
  [[ -n $home ]] || home=$(getent passwd "$(id -u)" | cut -d: -f6)
  {
    echo "# Written by bootstrap.sh; change it as you like."
    echo "build --disk_cache=$home/.cache/tenon-bazel"
    # Bazel's sandboxes live in /dev/shm, outputs of running actions included;
    # containers often give it 64 MB.
    local free
    free=$(df --output=avail -k /dev/shm 2>/dev/null | tail -n 1) || free=0
    if ((free < 1024 * 1024)); then
      echo "build --sandbox_base="
    fi
  } >"$root/user.bazelrc"
}

check_system
mapfile -t wanted < <(missing "${packages[@]}")
if ((${#wanted[@]})); then
  check_root "${wanted[*]}"
  install_packages "${wanted[@]}"
  mapfile -t wanted < <(missing "${wanted[@]}")
  ((${#wanted[@]} == 0)) || fail "apt did not install ${wanted[*]}"
fi
write_bazelrc
