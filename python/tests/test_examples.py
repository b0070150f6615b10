# SPDX-License-Identifier: Apache-2.0
"""The programs of examples/python that need PyTorch; each checks its own
results."""
import os
import pathlib
import subprocess
import sys
import unittest

FOLDER = pathlib.Path(__file__).resolve().parents[2] / "examples/python"


def run(*arguments):
    """What a program prints."""
    done = subprocess.run(
        [sys.executable, *arguments], text=True, capture_output=True,
        env={**os.environ, "TENON_CACHE_DIR": "", "GLOO_SOCKET_IFNAME": "lo"})
    assert done.returncode == 0, done.stderr
    return done.stdout


class ExamplesTest(unittest.TestCase):
    def test_inference(self):
        self.assertIn("nothing left over", run(FOLDER / "inference.py"))

    def test_training(self):
        self.assertIn("after 50 steps", run(FOLDER / "training.py"))

    def test_data_parallel(self):
        torchrun = ("-m", "torch.distributed.run", "--standalone",
                    "--nproc-per-node=2")
        self.assertIn("2 processes have the weights of one",
                      run(*torchrun, FOLDER / "ddp.py"))


if __name__ == "__main__":
    unittest.main()
