#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Executes compiled graphs on a CPU that this machine does not have.

    tests/emulated/run.py [OPTIONS] MODEL.json | DIR | RUNS.txt ...

Each model, each model of a folder, and each line of a file of runs (as for
`tenon check --runs`, with --cases) is compiled for two CPUs, --target and
x86-64-v3. This machine executes the code of the second; Bochs, which emulates
a CPU with AVX-512 and VNNI, that of the first, under a Linux kernel with
nothing but a shell. Outputs are compared there. What takes this machine longer
than --longest is left out: the emulator needs some hundred times as long.

Debian's packages: bochs bochs-term isolinux syslinux-common genisoimage cpio
busybox-static, and a kernel (linux-image-cloud-amd64, or --kernel).

Bochs 2.7 executes no AVX512_BF16, AVX512_FP16, AVX-VNNI or AMX. With a register
from 16 to 31 it takes the 8-bit displacement of `vpinsrb` for a number of words
and that of `vpextrw` for one of bytes, and the results of `vgf2p8affineqb`, by
which halves of bytes are shifted, are not as defined (--target skylake-avx512
has code without it). A difference of code that holds such an instruction is no
failure, nor is one where the code for x86-64-v3 differs as
much when it is not fused: numbers that are rounded on the way to a level or to
the largest of a softmax.
"""
import argparse
import glob
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

# What the kernel must not use: Bochs describes the state of PKU and the compact
# format of XSAVE wrongly, and faults on RDPID and UMIP of this kernel.
KERNEL_OPTIONS = ("console=ttyS0,115200 nokaslr mitigations=off lsm= tsc=reliable "
                  "lpj=1000000 no_timer_check random.trust_cpu=on rdinit=/init "
                  "quiet loglevel=1 audit=0 clocksource=tsc no5lvl "
                  "clearcpuid=514,534,580,321,323,515")

BOCHS_CONFIG = """\
display_library: rfb, options="timeout=0"
megs: 2048
romimage: file=/usr/share/bochs/BIOS-bochs-latest
vgaromimage: file=/usr/share/bochs/VGABIOS-lgpl-latest
cpu: model={model}, count=1, ips=200000000, reset_on_triple_fault=0, ignore_bad_msrs=1
ata0: enabled=1, ioaddr1=0x1f0, ioaddr2=0x3f0, irq=14
ata0-master: type=cdrom, path=image.iso, status=inserted
boot: cdrom
com1: enabled=1, mode=file, dev=serial.txt
clock: sync=none, time0=local
log: bochs.log
panic: action=fatal
error: action=ignore
info: action=ignore
debug: action=ignore
"""

INIT = """\
#!/bin/sh
mount -t proc proc /proc
mount -t devtmpfs dev /dev
mount -t tmpfs tmp /tmp
echo "FLAGS $(grep -m1 flags /proc/cpuinfo)"
cd /cases
i=0
while [ -e $i.so ]; do
  timeout {timeout} execute ./$i.so compare $i.out >/tmp/o 2>&1
  echo "CASE $i $? $(cat /tmp/o)"
  i=$((i + 1))
done
echo FINISHED
sleep 1
poweroff -f
"""


def arguments():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", nargs="+")
    parser.add_argument("--cases", default=".", help="folder of the models of runs")
    parser.add_argument("--target", default="icelake-client", help="an LLVM CPU name")
    parser.add_argument("--model", default="tigerlake", help="CPU of Bochs")
    parser.add_argument("--kernel", help="default: the newest in /boot")
    parser.add_argument("--bin", help="folder like bazel-bin; default: build it")
    parser.add_argument("--options", default="", help="for tenon compile")
    parser.add_argument("--longest", type=float, default=0.04,
                        help="seconds on this machine, starting the process included")
    parser.add_argument("--bytes", type=int, default=400000, help="of outputs, at most")
    parser.add_argument("--timeout", type=int, default=100,
                        help="seconds of the emulated machine for a case")
    parser.add_argument("--keep", help="folder for all files; a temporary one is removed")
    return parser.parse_args()


def models_of(what, cases):
    """(path, changes to the model) of each model named by an argument."""
    for name in what:
        if os.path.isdir(name):
            for path in sorted(glob.glob(os.path.join(name, "*.json"))):
                yield path, []
        elif name.endswith(".txt"):
            with open(name) as lines:
                for words in map(shlex.split, lines):
                    case = [w[7:] for w in words if w.startswith("--case=")]
                    rest = [w for w in words if not w.startswith(("--case=", "--expected"))]
                    if case:
                        yield os.path.join(cases, case[0]), rest
        else:
            yield name, []


def bazel(*words):
    return subprocess.run(["bazel", words[0], "--ui_event_filters=-info", *words[1:]], cwd=ROOT,
                          check=True, stdout=subprocess.PIPE, text=True).stdout.strip()


def build(work, bin_folder):
    """Tenon, its runtime and the program that executes."""
    if not bin_folder:
        bazel("build", "//tools/tenon", "//runtime:libtenon_rt.so.0")
        bin_folder = bazel("info", "bazel-bin")
    shutil.copy(os.path.join(bin_folder, "runtime/libtenon_rt.so.0"), work)
    execute = os.path.join(work, "execute")
    subprocess.run(["cc", "-std=c11", "-O2", "-Wall", "-Wextra", "-I", os.path.join(ROOT, "runtime"),
                    os.path.join(ROOT, "tests/emulated/execute.c"),
                    os.path.join(work, "libtenon_rt.so.0"), "-lm", "-o", execute], check=True)
    return os.path.join(bin_folder, "tools/tenon/tenon"), execute


def compile_cases(args, tenon, execute, work, folder):
    """Writes N.so and N.out; the description of each N, and what was left out."""
    environment = dict(os.environ, LD_LIBRARY_PATH=work)
    kept, left_out = [], {}
    for path, changes in dict.fromkeys((p, tuple(c)) for p, c in models_of(args.what, args.cases)):
        library, output = (os.path.join(folder, f"{len(kept)}.{end}") for end in ("so", "out"))
        compiled = subprocess.run(
            [tenon, "compile", path, *changes, *args.options.split(), "--targets",
             args.target + ",x86-64-v3", "--name", "m", "-o", library],
            capture_output=True, text=True)
        reason = compiled.returncode and "does not compile: " + compiled.stderr.split(" ")[0]
        if not reason:
            start = time.monotonic()
            try:
                executed = subprocess.run([execute, library, "write", output], env=environment,
                                          capture_output=True, text=True, timeout=20)
                reason = executed.returncode and "does not execute: " + executed.stderr.strip()
            except subprocess.TimeoutExpired:
                reason = "too long"
        if not reason and (time.monotonic() - start > args.longest or
                           os.path.getsize(output) > args.bytes):
            reason = "too long"
        if reason:
            left_out[reason] = left_out.get(reason, 0) + 1
            for file in (library, output):
                if os.path.exists(file):
                    os.remove(file)
            continue
        kept.append(shlex.join([path, *changes]))
    return kept, left_out


def is_misread(library):
    """Whether the emulator executes an instruction of this code wrongly."""
    text = subprocess.run(["objdump", "-d", library], check=True, capture_output=True,
                          text=True).stdout
    return bool(re.search(r":\t62 .*(vpinsrb +\$\w+,-?0x\w+\(|vpextrw .*,-?0x\w+\(|gf2p8affineqb)", text))


def is_unstable(tenon, execute, work, case, output):
    """Whether this machine's results depend on the order of roundings, too."""
    library = os.path.join(work, "apart.so")
    subprocess.run([tenon, "compile", *shlex.split(case), "--no-fuse", "--targets", "x86-64-v3",
                    "--name", "m", "-o", library], check=True, capture_output=True)
    return subprocess.run([execute, library, "compare", output], capture_output=True, check=False,
                          env=dict(os.environ, LD_LIBRARY_PATH=work)).returncode == 1


def make_image(args, work, folder):
    """A CD that boots the kernel with the cases as its root."""
    root, iso = os.path.join(work, "root"), os.path.join(work, "iso")
    for place in ("bin", "lib64", "lib/x86_64-linux-gnu", "proc", "dev", "tmp"):
        os.makedirs(os.path.join(root, place))
    os.makedirs(os.path.join(iso, "isolinux"))
    os.rename(folder, os.path.join(root, "cases"))
    shutil.copy("/bin/busybox", os.path.join(root, "bin"))
    for applet in "sh mount grep cat timeout sleep poweroff".split():
        os.symlink("busybox", os.path.join(root, "bin", applet))
    shutil.copy(os.path.join(work, "execute"), os.path.join(root, "bin"))
    shutil.copy("/lib64/ld-linux-x86-64.so.2", os.path.join(root, "lib64"))
    libraries = os.path.join(root, "lib/x86_64-linux-gnu")
    for name in ("libc.so.6", "libm.so.6"):
        shutil.copy(os.path.join("/lib/x86_64-linux-gnu", name), libraries)
    shutil.copy(os.path.join(work, "libtenon_rt.so.0"), libraries)
    with open(os.path.join(root, "init"), "w") as file:
        file.write(INIT.replace("{timeout}", str(args.timeout)))
    os.chmod(os.path.join(root, "init"), 0o755)
    subprocess.run("find . | cpio --quiet -o -H newc | gzip -1 > ../iso/initrd", shell=True,
                   cwd=root, check=True)
    kernel = args.kernel or max(glob.glob("/boot/vmlinuz-*"), default=None)
    if not kernel:
        sys.exit("no kernel in /boot: --kernel")
    shutil.copy(kernel, os.path.join(iso, "vmlinuz"))
    shutil.copy("/usr/lib/ISOLINUX/isolinux.bin", os.path.join(iso, "isolinux"))
    shutil.copy("/usr/lib/syslinux/modules/bios/ldlinux.c32", os.path.join(iso, "isolinux"))
    with open(os.path.join(iso, "isolinux/isolinux.cfg"), "w") as file:
        file.write("default linux\nprompt 0\nlabel linux\n  kernel /vmlinuz\n"
                   f"  append initrd=/initrd {KERNEL_OPTIONS}\n")
    subprocess.run(["genisoimage", "-quiet", "-o", "image.iso", "-b", "isolinux/isolinux.bin", "-c",
                    "isolinux/boot.cat", "-no-emul-boot", "-boot-load-size", "4",
                    "-boot-info-table", "iso"], cwd=work, check=True)


def boot(args, work):
    """Runs the emulator to its end; what the machine wrote."""
    with open(os.path.join(work, "bochsrc"), "w") as file:
        file.write(BOCHS_CONFIG.format(model=args.model))
    with open(os.path.join(work, "commands"), "w") as file:
        file.write("c\n")
    with open(os.path.join(work, "bochs.out"), "w") as out:
        subprocess.run(["bochs", "-q", "-f", "bochsrc", "-rc", "commands"], cwd=work,
                       stdin=subprocess.DEVNULL, stdout=out, stderr=out, check=False)
    with open(os.path.join(work, "serial.txt"), errors="replace") as file:
        return file.read()


def main():
    args = arguments()
    work = args.keep or tempfile.mkdtemp()
    folder = os.path.join(work, "new")
    os.makedirs(folder)
    try:
        tenon, execute = build(work, args.bin)
        kept, left_out = compile_cases(args, tenon, execute, work, folder)
        for reason, number in sorted(left_out.items()):
            print(f"{number:5} {reason}")
        if not kept:
            sys.exit("nothing to execute")
        make_image(args, work, folder)
        text = boot(args, work)
        if "FINISHED" not in text:
            print("the emulated machine did not come to its end")
        passed = excused = 0
        for number, code, target, rest in re.findall(r"^CASE (\d+) (\d+) (\S*)(.*)", text, re.M):
            files = os.path.join(work, "root/cases", number)
            case = kept[int(number)]
            if code == "0" and target == args.target:
                passed += 1
            elif code == "1" and is_misread(files + ".so"):
                excused += 1
                print(f"the emulator's instructions: {case}")
            elif code == "1" and is_unstable(tenon, execute, work, case, files + ".out"):
                excused += 1
                print(f"unstable here, too: {case}")
            else:
                print(f"FAILED, {code}: {case}\n  {target}{rest.rstrip()}")
    finally:
        if not args.keep:
            shutil.rmtree(work)
    print(f"{passed} passed, {len(kept) - passed - excused} failed, {excused} skipped")
    return 0 if passed > 0 and passed + excused == len(kept) else 1


if __name__ == "__main__":
    sys.exit(main())
