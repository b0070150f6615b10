#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What bootstrap.sh does and says, with stand-ins for apt, dpkg and sudo.
# Conditions and bodies of stubs are evaluated later.
# shellcheck disable=SC2016
set -uo pipefail
script=$(readlink -f "$1")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$work/bin" "$work/tree" "$work/home"
cp "$script" "$work/tree/bootstrap.sh"
cd "$work" || exit 1
failures=0

if ! grep -q '^PRETTY_NAME="Debian GNU/Linux 12' /etc/os-release; then
  echo "not Debian 12: only the refusal is tested"
  tree/bootstrap.sh 2>&1 | grep -q "this needs Debian 12"
  exit
fi

# stub NAME BODY: a command that logs its arguments.
stub() {
  printf '#!/bin/bash\necho "%s $*" >>"%s/log"\n%s\n' "$1" "$work" "$2" \
    >"bin/$1"
  chmod +x "bin/$1"
}

# run USER-ID: the script with the stubs, output in out, calls in log.
run() {
  : >log
  stub id "echo $1"
  HOME=$work/home PATH=$work/bin:/usr/bin:/bin tree/bootstrap.sh \
    >out 2>&1 </dev/null
}

check() {
  if ! eval "$2"; then
    echo "FAILED: $1: $2"
    sed 's/^/  out: /' out
    sed 's/^/  log: /' log
    failures=$((failures + 1))
  fi
}

installed='echo installed'
absent='[[ ${!#} == lld-22 && ! -e have_lld ]] && exit 1; echo installed'
candidate='echo "  Candidate: 1"'

stub apt-cache "$candidate"
stub apt-get 'true'
stub dpkg-query "$installed"
run 1000
check "nothing missing: no apt, no root" \
  '[[ $? == 0 ]] && ! grep -qE "apt|sudo" log && [[ ! -s out ]]'
check "settings are written" \
  'grep -qx "build --disk_cache=$work/home/.cache/tenon-bazel" \
     tree/user.bazelrc'

echo "# mine" >tree/user.bazelrc
run 0
check "settings are kept" '[[ $(<tree/user.bazelrc) == "# mine" ]]'

stub dpkg-query "$absent"
stub apt-get '[[ $* == *install* ]] && touch have_lld; true'
run 0
check "installs what is missing and only that" \
  'grep -qE "^apt-get install .* lld-22$" log && ! grep -q "install.*clang" log'
check "updates the lists first" 'grep -q "^apt-get update" log'
rm -f have_lld

stub sudo 'exit 1'
run 1000
check "no root: one line" \
  '[[ $(wc -l <out) == 1 ]] && grep -q "sudo refuses.*lld-22" out'

stub apt-cache 'echo "  Candidate: (none)"'
stub apt-get '[[ $* == *update* ]] && { echo "E: no network"; exit 100; }; true'
run 0
check "no candidate: says which, and why" \
  'grep -q "no candidate for lld-22.*no network" out'
check "no candidate: installs nothing" '! grep -q "apt-get install" log'

stub apt-cache "$candidate"
stub apt-get '[[ $* == *install* ]] && { echo "E: cannot fetch"; exit 100; }
true'
run 0
check "apt fails: its complaint" \
  'grep -q "apt-get install failed: E: cannot fetch" out'

((failures == 0)) && echo "bootstrap.sh: all as it should be"
exit $((failures > 0))
