#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Files compiled ahead of time, in C programs that link nothing but the runtime.
#
#   aot_test.sh TENON LIBTENON_RT.SO LIBTENON_RT.A TENON_AOT.H MLP.JSON
#     MLP_DYNAMIC.JSON BERT_LAYER.JSON PROGRAM.H
set -euo pipefail
tenon=$(readlink -f "$1")
shared=$(readlink -f "$2")
static=$(readlink -f "$3")
include=$(dirname "$(readlink -f "$4")")
mlp=$(readlink -f "$5")
dynamic=$(readlink -f "$6")
bert=$(readlink -f "$7")
sources=$(dirname "$(readlink -f "$8")")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
cp "$shared" libtenon_rt.so.0
cp "$static" libtenon_rt.a
ln -s libtenon_rt.so.0 libtenon_rt.so
export LD_LIBRARY_PATH=$work

die() {
  echo "aot_test: $*" >&2
  exit 1
}

# Succeeds if the command fails with that code and says so: E1503 or status 17.
expect_error() {
  local code=$1
  shift
  if "$@" >out.log 2>&1; then die "no $code from: $*"; fi
  grep -q "^$code" out.log || {
    cat out.log
    die "not $code from: $*"
  }
}

expect_status() {
  local status=$1 got=0
  shift
  "$@" >out.log 2>&1 || got=$?
  [[ $got == "$status" ]] || {
    cat out.log
    die "$got, not $status, from: $*"
  }
}

# floats FILE COUNT SEED: as they are in memory, and FILE.npy for tenon run.
floats() {
  python3 - "$@" <<'PY'
import random, struct, sys
name, shape, seed = sys.argv[1], eval(sys.argv[2]), int(sys.argv[3])
random.seed(seed)
count = 1
for size in shape:
    count *= size
data = struct.pack("<%df" % count, *(random.uniform(-1, 1) for _ in range(count)))
open(name, "wb").write(data)
head = "{'descr': '<f4', 'fortran_order': False, 'shape': %s, }" % (shape,)
head += " " * (-(len(head) + 11) % 64) + "\n"
npy = b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head.encode() + data
open(name + ".npy", "wb").write(npy)
PY
}

# as_npy RAW LIKE OUT: RAW with the header of LIKE.
as_npy() {
  python3 - "$@" <<'PY'
import sys
raw = open(sys.argv[1], "rb").read()
like = open(sys.argv[2], "rb").read()
open(sys.argv[3], "wb").write(like[:len(like) - len(raw)] + raw)
PY
}

build() {
  cc -std=c11 -Wall -Wextra -pedantic -Werror -O1 -I"$include" -I"$sources" -I. \
    -o "$@"
}

only_runtime() {
  ldd "$1" >ldd.log
  if grep -iE 'LLVM|MLIR|stdc' ldd.log; then die "$1 needs more than it should"; fi
}

#--- one target, all forms -----------------------------------------------------
floats x "(64, 13)" 1
reference=("$tenon" run "$mlp" --no-check --repeat 1 --input fc1.src=@x.npy)
"${reference[@]}" --output fc3.relu=@y.npy >/dev/null
"$tenon" compile "$mlp" -o mlp.so --header mlp.h --fill-constants
"$tenon" compile "$mlp" -o mlp.o --fill-constants
"$tenon" compile "$mlp" -o mlp.a --fill-constants
build by_so "$sources/mlp_main.c" mlp.so -L. -ltenon_rt
build by_o "$sources/mlp_main.c" mlp.o -L. -ltenon_rt
build by_a "$sources/mlp_main.c" mlp.a libtenon_rt.a -pthread
for program in by_so by_o by_a; do
  "./$program" x out.raw
  as_npy out.raw y.npy out.npy
  "${reference[@]}" --expect fc3.relu=@out.npy | grep 'expected: as in'
  only_runtime $program
done
if ldd by_a | grep tenon; then die "by_a is linked with the shared runtime"; fi

# A library with its runtime, and what it shows.
"$tenon" compile "$mlp" -o own.so --name mlp --fill-constants \
  --link libtenon_rt.a --link "$(cc -print-libgcc-file-name)"
"$tenon" compile "$mlp" -o names.so --name mlp --fill-constants
nm -D --defined-only names.so | awk '{print $3}' | sort >names
printf 'mlp_%s\n' create destroy get_info info run scratch_bytes | diff - names

# The tools take all forms.
for file in mlp.so mlp.o mlp.a own.so; do
  "$tenon" run $file --check --input fc1.src=@x.npy --expect fc3.relu=@y.npy |
    tee run.log
  grep -q 'check: passed' run.log
  grep -q 'expected: as in' run.log
  "$tenon" inspect $file | grep -q '^functions       mlp_'
done
"$tenon" inspect mlp.so --graph >graph.log
grep -q fc3.relu graph.log
"$tenon" bench mlp.so --warm --min-time 0.01 >bench.log
grep -q '^time ' bench.log

#--- the same bytes, twice -----------------------------------------------------
for kind in so o a; do
  mkdir -p again
  "$tenon" compile "$mlp" -o again/mlp.$kind --header again/mlp.h --fill-constants \
    >/dev/null
  cmp again/mlp.$kind mlp.$kind
done
cmp again/mlp.h mlp.h

#--- damage --------------------------------------------------------------------
# flip FILE OUT OFFSET
flip() {
  python3 - "$@" <<'PY'
import sys
data = bytearray(open(sys.argv[1], "rb").read())
data[int(sys.argv[3])] ^= 0x10
open(sys.argv[2], "wb").write(data)
PY
}
for file in mlp.so mlp.o mlp.a; do
  size=$(stat -c %s $file)
  for ((i = 0; i < 40; i++)); do
    flip $file bad.so $((i * (size - 1) / 39))
    # Where nothing is left of ELF, or of the seal, it is no compiled file.
    expect_error 'E1\(00[0-9]\|501\|502\|503\):' "$tenon" run bad.so
  done
  head -c $((size / 2)) $file >bad.so
  expect_error 'E150[13]:' "$tenon" run bad.so
  "$tenon" run $file --no-check --repeat 1 >/dev/null
done
cp mlp.so bad.so
printf x >>bad.so
expect_error E1503 "$tenon" run bad.so
# Another version of the format.
python3 - <<'PY'
data = open("mlp.so", "rb").read()
at = data.index(b"TENONAOT")
open("bad.so", "wb").write(data[:at + 8] + b"\x63\0\0\0" + data[at + 12:])
PY
expect_error E1502 "$tenon" run bad.so
cp "$shared" other.so
expect_error E1501 "$tenon" run other.so

#--- several targets -----------------------------------------------------------
"$tenon" compile "$mlp" -o many.so --name mlp --fill-constants \
  --targets=x86-64-v2,znver5,x86-64-v4,x86-64-v3 >many.log
grep -q 'for znver5, x86-64-v4, x86-64-v3, x86-64-v2$' many.log
build many "$sources/mlp_main.c" many.so -L. -ltenon_rt
chosen() { # EXPECTED FEATURES
  FEATURES=$2 ./many x out.raw >many.log
  grep -qx "$1" many.log || die "$(<many.log), not $1, without $2"
  as_npy out.raw y.npy out.npy
  "${reference[@]}" --expect fc3.relu=@out.npy | grep -q 'expected: as in'
  "$tenon" run many.so --check --without-features="$2" |
    grep -q "loaded code for $1"
}
if grep -qw avx2 /proc/cpuinfo; then
  chosen x86-64-v3 avx512f
  chosen x86-64-v3 avx512vl,avxvnni
fi
chosen x86-64-v2 avx2,avx512f
FEATURES=sse4.2 expect_status 17 ./many x out.raw
expect_error E2004 "$tenon" run many.so --without-features=sse3
# What the description promises is what the code uses.
"$tenon" compile "$mlp" -o v3.o --name mlp --target-cpu=x86-64-v3
objdump -d v3.o >v3.s
grep -q '%ymm' v3.s
if grep -qE '%zmm|%k[1-7]' v3.s; then die "x86-64-v3 code with AVX-512"; fi
"$tenon" compile "$mlp" -o v2.o --name mlp --target-cpu=x86-64-v2
objdump -d v2.o >v2.s
grep -q '%xmm' v2.s
if grep -qE '%ymm|%zmm' v2.s; then die "x86-64-v2 code with AVX"; fi

#--- weights in a file, constants of the caller ----------------------------------
"$tenon" compile "$mlp" -o apart.so --name mlp --header apart.h --fill-constants \
  --weights=mlp.weights
[[ $(stat -c %s apart.so) -lt $(stat -c %s mlp.so) ]]
cmp apart.h mlp.h && die "the header does not speak of the weights"
build apart "$sources/mlp_main.c" apart.so -L. -ltenon_rt
WEIGHTS=mlp.weights ./apart x out.raw
as_npy out.raw y.npy out.npy
"${reference[@]}" --expect fc3.relu=@out.npy | grep 'expected: as in'
"$tenon" run apart.so --weights=mlp.weights --check | grep 'check: passed'
flip mlp.weights bad.weights 1000
WEIGHTS=bad.weights expect_status 19 ./apart x out.raw
WEIGHTS=missing expect_status 18 ./apart x out.raw
expect_error E1503 "$tenon" run apart.so --weights=bad.weights
expect_error E1001 "$tenon" run apart.so
"$tenon" compile "$mlp" -o open.so --header open.h --constant fc2.weights=ones
grep -q 'const float \*fc1_weights' open.h
if grep -q fc2_weights open.h; then die "an argument for an embedded constant"; fi
"$tenon" run open.so --check | grep 'check: passed'

#--- sizes that are open ---------------------------------------------------------
"$tenon" compile "$dynamic" -o any.so --header any.h
grep -q 'const int64_t fc1_src_dims\[2\]' any.h
for mb in 1 5 64; do
  "$tenon" run any.so --mb=$mb --check | grep 'check: passed'
done
build any "$sources/any_main.c" any.so -L. -ltenon_rt
./any x out.raw
all_ones=()
for layer in fc1 fc2 fc3; do
  all_ones+=(--input $layer.weights=ones --input $layer.bias=ones)
done
reference_any=("$tenon" run "$dynamic" --mb=64 --no-check --repeat 1
  --input fc1.src=@x.npy "${all_ones[@]}")
"${reference_any[@]}" --output fc3.relu=@any.npy >/dev/null
as_npy out.raw any.npy out.npy
"${reference_any[@]}" --expect fc3.relu=@out.npy | grep 'expected: as in'
expect_error E1007 "$tenon" run any.so --mb=4 --dt=bf16
expect_error E1007 "$tenon" run mlp.so --mb=4

#--- sizes that are declared, likely ones with code of their own -------------------
python3 - "$dynamic" <<'PY'
import json, sys
graph = json.load(open(sys.argv[1]))
for op in graph["graph"]:
    for tensor in op["inputs"]:
        if tensor["id"] == 0:
            tensor["shape"][0] = "rows"
graph["sizes"] = {"rows": {"min": 1, "max": 64, "likely": [1, 59]}}
json.dump(graph, open("likely.json", "w"))
PY
targets=x86-64-v2,x86-64-v3
"$tenon" compile likely.json -o any.so --header any.h --targets=$targets |
  tee likely.log
grep -q '^with code of its own for rows=59$' likely.log
grep -q 'rows: from 1 to 64, is fc1_src_dims\[0\]' any.h
build likely "$sources/any_main.c" any.so -L. -ltenon_rt
only_runtime likely
./likely x out.raw
as_npy out.raw any.npy out.npy
"${reference_any[@]}" --expect fc3.relu=@out.npy | grep 'expected: as in'
nm -D --defined-only any.so | awk '{print $3}' | sort >names
printf 'any_%s\n' create destroy get_info info run scratch_bytes | diff - names
for mb in 1 2 59; do
  "$tenon" run any.so --mb=$mb --check >likely.log
  grep -q 'check: passed' likely.log
done
grep -q 'executed: the code for rows=59' likely.log
expect_error E1212 "$tenon" run any.so --mb=65
build declared "$sources/declared_main.c" any.so -L. -ltenon_rt -lm
./declared x out.raw
as_npy out.raw any.npy out.npy
"${reference_any[@]}" --expect fc3.relu=@out.npy | grep 'expected: as in'
"$tenon" compile likely.json -o again/any.so --header again/any.h \
  --targets=$targets >/dev/null
cmp again/any.so any.so

#--- one unknown size, and an unknown rank -------------------------------------
one_op() { # SHAPE STRIDE LAYOUT-OF-RESULT
  cat <<JSON
{"graph": [{"id": 0, "name": "r", "kind": "ReLU", "attrs": {},
 "inputs": [{"id": 0, "dtype": "f32", "shape": [$1], "stride": [$2],
  "layout_type": "strided", "property_type": "variable"}],
 "outputs": [{"id": 1, "dtype": "f32", "shape": [$1], "stride": [$1],
  "layout_type": "$3", "property_type": "variable"}]}],
 "input_ports": [0], "output_ports": [1]}
JSON
}
unknown=-9223372036854775808
one_op $unknown 1 any >line.json
"$tenon" compile line.json -o line.so
"$tenon" run line.so --in-shapes=0:5 | grep '5xf32'
one_op $unknown $unknown undef >rank.json
expect_error E1211 "$tenon" compile rank.json -o rank.o

#--- mistakes --------------------------------------------------------------------
expect_error E1007 "$tenon" compile "$mlp" -o out.exe
expect_error E1007 "$tenon" compile "$mlp" -o out.so --name 1x
expect_error E1007 "$tenon" compile "$mlp" -o out.so --targets=x86-64-v3,x86-64-v3
expect_error E2004 "$tenon" compile "$mlp" -o out.so --targets=i486dx
expect_error E2004 "$tenon" compile "$mlp" -o out.so --target-triple=riscv64-linux-gnu
expect_error E1001 "$tenon" compile "$mlp" -o out.so --linker=no-such-linker
expect_error E1107 "$tenon" compile "$mlp" -o out.so --constant nothing=ones
expect_error E1007 "$tenon" compile "$mlp" -o out.so --constant fc1.src=ones

#--- a BERT layer ----------------------------------------------------------------
floats hidden "(1, 128, 768)" 2
floats mask "(1, 1, 1, 128)" 3
"$tenon" compile "$bert" -o bert.so --header bert.h --fill-constants
# Its constants are large enough to be packed already, and are there once.
"$tenon" compile "$bert" -o again/bert.so --fill-constants >/dev/null
cmp again/bert.so bert.so
"$tenon" compile "$bert" -o load.so --name bert --fill-constants \
  --pack-constants=load
sizes=$(stat -c %s load.so bert.so | tr '\n' ' ')
((${sizes%% *} * 11 > 10 * $(stat -c %s bert.so))) || die "sizes $sizes"
"$tenon" run load.so --check | grep 'check: passed'
"$tenon" run bert.so --repeat 1 | grep 'check: not possible, .*--pack-constants'
expect_error E1007 "$tenon" run bert.so --check
"$tenon" compile "$bert" -o apart.so --name bert --fill-constants \
  --weights=bert.weights
"$tenon" run load.so --no-check --repeat 1 --output ffn.norm=@loaded.npy
for file in "bert.so" "apart.so --weights=bert.weights"; do
  # shellcheck disable=SC2086
  "$tenon" run $file --no-check --repeat 1 --output ffn.norm=@packed.npy
  cmp packed.npy loaded.npy
done
flip bert.weights bad.weights 100000
expect_error E1503 "$tenon" run apart.so --weights=bad.weights
# Several targets: when the file is loaded, which it says, or for each of them.
"$tenon" compile "$bert" -o many.so --targets=x86-64-v2,x86-64-v3 \
  --fill-constants 2>pack.log
grep -q 'remark: constants are packed when .* several CPUs' pack.log
"$tenon" compile "$mlp" -o many.so --targets=x86-64-v2,x86-64-v3 \
  --fill-constants --pack-constants=compile
for without in avx512f avx2; do
  "$tenon" run many.so --repeat 1 --without-features=$without \
    --input fc1.src=@x.npy --expect fc3.relu=@y.npy | grep 'expected: as in'
done
expect_error E1007 "$tenon" compile "$mlp" -o arm.so --fill-constants \
  --pack-constants=compile --target-triple=aarch64-linux-gnu
expect_error E1007 "$tenon" compile "$mlp" -o open.so \
  --constant fc2.weights=ones --pack-constants=compile
# Constants of the versions for likely sizes are those of the others.
all_random=()
for layer in fc1 fc2 fc3; do
  all_random+=(--constant $layer.weights=rand:3 --constant $layer.bias=ones)
done
"$tenon" compile likely.json -o any.so "${all_random[@]}" \
  --pack-constants=compile
[[ $(stat -c %s any.so) -lt $((15 * $(stat -c %s mlp.so) / 10)) ]]
for mb in 2 59; do
  for packing in load compile; do
    "$tenon" compile likely.json -o any.so "${all_random[@]}" \
      --pack-constants=$packing >/dev/null
    "$tenon" run any.so --mb=$mb --no-check --repeat 1 --input fc1.src=ones \
      --output fc3.relu=@$packing.npy >/dev/null
  done
  cmp load.npy compile.npy
done
build bert "$sources/bert_main.c" bert.so -L. -ltenon_rt
only_runtime bert
for ((i = 0; i < 3; i++)); do
  ./bert hidden mask out.raw
done
"$tenon" run "$bert" --no-check --repeat 1 --input attn.q.src=@hidden.npy \
  --input attn.mask.src_1=@mask.npy --output ffn.norm=@bert.npy >/dev/null
as_npy out.raw bert.npy out.npy
"$tenon" run "$bert" --no-check --repeat 1 --input attn.q.src=@hidden.npy \
  --input attn.mask.src_1=@mask.npy --expect ffn.norm=@out.npy |
  grep 'expected: as in'

#--- AArch64 ---------------------------------------------------------------------
"$tenon" compile "$mlp" -o arm.o --name mlp --header mlp.h --fill-constants \
  --target-triple=aarch64-linux-gnu
"$tenon" inspect arm.o | grep -q '^machine         aarch64'
expect_error E2004 "$tenon" run arm.o
# Results past the caches end with a fence, which each machine spells otherwise.
one_op "2048, 2048" "2048, 1" any >large.json
"$tenon" compile large.json -o large.o --target-triple=aarch64-linux-gnu
qemu=$(command -v qemu-aarch64 || command -v qemu-aarch64-static || true)
if [[ -n $qemu ]] && command -v aarch64-linux-gnu-g++ >/dev/null; then
  mkdir arm
  cp /usr/include/xxhash.h /usr/include/xxh3.h arm
  for source in "$include"/*.cpp; do
    case $source in *_test.cpp | *_benchmark.cpp) continue ;; esac
    aarch64-linux-gnu-g++ -std=c++20 -O1 -fno-exceptions -fno-rtti \
      -DXXH_INLINE_ALL -Iarm -I"$include" -I"$include/.." -c "$source" \
      -o "arm/$(basename "$source" .cpp).o"
  done
  aarch64-linux-gnu-gcc -std=c11 -O1 -static -I"$include" -I"$sources" -I. \
    -o arm_mlp "$sources/mlp_main.c" arm.o arm/*.o -pthread
  [[ $("$qemu" ./arm_mlp x out.raw) == generic ]]
  as_npy out.raw y.npy out.npy
  "${reference[@]}" --expect fc3.relu=@out.npy | grep 'expected: as in'
  FEATURES=neon expect_status 17 "$qemu" ./arm_mlp x out.raw
  echo "aot_test: AArch64 code has run"
else
  echo "aot_test: no qemu-user with a cross compiler: AArch64 code has not run"
fi
echo "aot_test: passed"
