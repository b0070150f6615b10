# SPDX-License-Identifier: Apache-2.0
"""Options for code whose executed basic blocks a test counts (Counting.h)."""

COUNTED = ["-fsanitize-coverage=trace-pc"]
