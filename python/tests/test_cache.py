# SPDX-License-Identifier: Apache-2.0
"""Compiled code that is kept for the next process."""
import os
import subprocess
import sys
import tempfile
import unittest

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

    def test_it_can_be_switched_off(self):
        self.assertEqual(run("")[:2], (1, 0))

    def test_a_folder_of_others_is_not_used(self):
        with tempfile.TemporaryDirectory() as folder:
            os.chmod(folder, 0o777)
            run(folder)
            self.assertEqual(os.listdir(folder), [])


if __name__ == "__main__":
    unittest.main()
