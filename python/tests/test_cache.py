# SPDX-License-Identifier: Apache-2.0
"""Compiled code that is kept for the next process."""
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest
from unittest import mock

from tenon.torch import cache

PROGRAM = """
import sys
import torch
import tenon.torch
from tenon.library import lib
torch.manual_seed(0)
m = torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.ReLU())
with torch.no_grad():
    y = torch.compile(m, backend="tenon")(torch.ones(2, 8) * float(sys.argv[1]))
s = lib.tenon_get_compile_stats()
print(s.compiled, s.from_disk, y.sum().item())
"""


def run(folder, factor=1):
    done = subprocess.run([sys.executable, "-c", PROGRAM, str(factor)],
                          env={**os.environ, "TENON_CACHE_DIR": folder},
                          stdout=subprocess.PIPE, text=True, check=True)
    compiled, from_disk, total = done.stdout.split()
    return int(compiled), int(from_disk), float(total)


class CacheTest(unittest.TestCase):
    def test_the_second_process_does_not_compile(self):
        with tempfile.TemporaryDirectory() as folder:
            first = run(folder)
            self.assertEqual(first[:2], (1, 0))
            second = run(folder)
            self.assertEqual(second, (0, 1, first[2]))
            for name in os.listdir(folder):
                with open(os.path.join(folder, name), "r+b") as file:
                    file.truncate(100)
            self.assertEqual(run(folder)[2], first[2])

    def test_the_folder_is_bounded(self):
        with tempfile.TemporaryDirectory() as folder:
            files = [pathlib.Path(folder, name) for name in
                     ("a.tenon", "b.tenon", "c.tenon", "notes.txt")]
            for age, file in zip((3, 1, 2, 9), files):
                file.write_bytes(bytes(1000))
                os.utime(file, (1e9 - age, 1e9 - age))
            cache.prune(pathlib.Path(folder), 2500)
            self.assertEqual([f.exists() for f in files],
                             [False, True, True, True])
            with mock.patch.dict(os.environ, TENON_CACHE_BYTES="1500"):
                run(folder)  # what it compiles itself stays
            self.assertEqual([f.exists() for f in files],
                             [False, True, False, True])
            (made,) = set(pathlib.Path(folder).glob("*.tenon")) - {*files}
            os.utime(made, (1, 1))
            run(folder)
            self.assertGreater(made.stat().st_mtime, 1e9)  # used just now

    def test_it_can_be_switched_off(self):
        self.assertEqual(run("")[:2], (1, 0))

    def test_a_folder_of_others_is_not_used(self):
        with tempfile.TemporaryDirectory() as folder:
            os.chmod(folder, 0o777)
            run(folder)
            self.assertEqual(os.listdir(folder), [])


if __name__ == "__main__":
    unittest.main()
