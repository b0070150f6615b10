# SPDX-License-Identifier: Apache-2.0
"""The Python in documents is executed, each document's as one program."""
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]


class DocumentsTest(unittest.TestCase):
    def test_python_in_documents(self):
        for name in ("README.md", "python/README.md", "docs/pytorch.md"):
            with self.subTest(name), tempfile.TemporaryDirectory() as folder:
                blocks = re.findall(r"^```python\n(.*?)^```",
                                    (ROOT / name).read_text(), re.M | re.S)
                self.assertTrue(blocks)
                done = subprocess.run([sys.executable, "-"], cwd=folder,
                                      input="\n".join(blocks), text=True,
                                      env=dict(os.environ, TENON_CACHE_DIR=""),
                                      capture_output=True)
                self.assertEqual(done.returncode, 0, done.stderr)


if __name__ == "__main__":
    unittest.main()
