#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Installs, moves the installed tree, and compiles and runs examples with what
# is in it: with CMake, with plain cc, with the flags of pkg-config, and against
# the static runtime alone.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
sources=$PWD

need() {
  command -v "$1" >/dev/null || {
    echo "FAILED: $1 is not installed; bootstrap.sh installs it" >&2
    exit 1
  }
}
need cmake
need pkg-config
need cc
need c++

tools/install/install --prefix="$work/first"
mv "$work/first" "$work/moved"
prefix=$work/moved
hello=examples/hello_graph_c/hello_graph_c.c
for file in include/tenon.h include/tenon.hpp lib/libtenon.so bin/tenon; do
  [[ -s $prefix/$file ]] || { echo "FAILED: no $file"; exit 1; }
done

# Runs a command that must print a result of the example.
check() {
  local output
  output=$("$@") || { echo "FAILED: $*"; exit 1; }
  grep -q '^relu(x . w + b)' <<<"$output" ||
    { echo "FAILED: $* printed: $output"; exit 1; }
  echo "ok: ${!#}"
}

cmake -S tools/install/package/example -B "$work/build" \
  -DCMAKE_PREFIX_PATH="$prefix" -DEXAMPLES="$sources" \
  -DCMAKE_BUILD_TYPE=Release >"$work/log" ||
  { cat "$work/log"; exit 1; }
cmake --build "$work/build" >"$work/log" || { cat "$work/log"; exit 1; }
check "$work/build/hello_c"
check "$work/build/hello_cpp"

cc -std=c11 -Wall -Wextra -Werror -I"$sources" -I"$prefix/include" \
  "$hello" -o "$work/plain" -L"$prefix/lib" -ltenon -lm
check env LD_LIBRARY_PATH="$prefix/lib" "$work/plain"

export PKG_CONFIG_PATH=$prefix/lib/pkgconfig
read -ra flags < <(pkg-config --cflags --libs tenon)
cc -std=c11 -I"$sources" "$hello" -o "$work/with_pc" "${flags[@]}" -lm
check env LD_LIBRARY_PATH="$prefix/lib" "$work/with_pc"
cat >"$work/version.c" <<'END'
#include <stdio.h>
#include <tenon.h>
int main(void) {
  tenon_version v = tenon_get_version();
  printf("%d.%d.%d\n", v.major, v.minor, v.patch);
  return 0;
}
END
cc -std=c11 "$work/version.c" -o "$work/version" "${flags[@]}"
version=$(LD_LIBRARY_PATH=$prefix/lib "$work/version")
[[ $version == "$(pkg-config --modversion tenon)" ]] ||
  { echo "FAILED: the library is $version, tenon.pc is not"; exit 1; }
"$prefix/bin/tenon" ops MatMul >/dev/null

# The runtime links nothing of C++.
cat >"$work/rt.c" <<'END'
#include <tenon_rt.h>
int main(void) {
  tenon_exec *exec;
  tenon_rt_status status = tenon_exec_create(NULL, &exec);
  tenon_exec_destroy(exec);
  return status;
}
END
cc -std=c11 -I"$prefix/include" "$work/rt.c" -o "$work/rt" \
  "$prefix/lib/libtenon_rt.a" -pthread
"$work/rt"
echo "ok: rt"

# A package for another interface is not this one.
sed 's/find_package(Tenon 0.4/find_package(Tenon 99.0/' \
  tools/install/package/example/CMakeLists.txt >"$work/CMakeLists.txt"
if cmake -S "$work" -B "$work/other" -DCMAKE_PREFIX_PATH="$prefix" \
  -DEXAMPLES="$sources" >"$work/log" 2>&1; then
  echo "FAILED: Tenon 99.0 was found"
  exit 1
fi
grep -q 'requested version "99.0"' "$work/log" ||
  { cat "$work/log"; exit 1; }
