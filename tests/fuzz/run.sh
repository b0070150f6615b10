#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Fuzzes one target with libFuzzer and the address sanitizer.
#
#   [CONFIG=fuzz_front] tests/fuzz/run.sh json|mlir|onnx|run [SECONDS] [OPTION]...
#
# OPTION is libFuzzer's. CONFIG is a configuration of .bazelrc: fuzz, all of our
# code instrumented, or fuzz_front, which builds in minutes.
#
# Starts from the corpus in this folder and from what earlier runs found, which
# is kept in fuzz-out/TARGET (ignored by git). A finding is written there, too:
# make it an input of the corpus when its cause is repaired.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

target=${1:-}
seconds=${2:-600}
case $target in
  json | mlir | onnx | run) ;;
  *)
    echo "usage: tests/fuzz/run.sh json|mlir|onnx|run [SECONDS] [OPTION]..." >&2
    exit 2
    ;;
esac
shift $(($# < 2 ? $# : 2))

if ! compgen -G '/usr/lib/llvm-22/lib/clang/*/lib/linux/libclang_rt.fuzzer-*.a' >/dev/null; then
  echo "run.sh: libFuzzer is missing; ./bootstrap.sh installs it" \
    "(package libclang-rt-22-dev)" >&2
  exit 1
fi

config=${CONFIG:-fuzz}
bazel build "--config=$config" "//tests/fuzz:${target}_fuzz" >&2
program=$(bazel info "--config=$config" --ui_event_filters=-info bazel-bin)/tests/fuzz/${target}_fuzz
found=fuzz-out/$target
mkdir -p "$found"
options=(-max_total_time="$seconds" -timeout=25 -rss_limit_mb=4096
  -artifact_prefix="$found-")
if [[ -e tests/fuzz/$target.dict ]]; then
  options+=(-dict="tests/fuzz/$target.dict")
fi
seeds=(tests/fuzz/corpus/"$target")
if [[ $target == onnx ]]; then
  # Small models of the tests, in one folder.
  seeds+=(fuzz-out/onnx-models)
  mkdir -p "${seeds[1]}"
  { find tests/onnx /usr/share/libonnx-testdata -name model.onnx -size -64k ||
    true; } |
    while read -r model; do
      cp "$model" "${seeds[1]}/$(basename "$(dirname "$model")")"
    done
fi
# The packaged LLVM is not instrumented: see .bazelrc.
ASAN_OPTIONS=detect_container_overflow=0:allow_user_poisoning=0:detect_leaks=0 \
  exec "$program" "${options[@]}" "$@" "$found" "${seeds[@]}"
