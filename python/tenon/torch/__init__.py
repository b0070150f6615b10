# SPDX-License-Identifier: Apache-2.0
"""Tenon as a backend of torch.compile.

    compiled = torch.compile(model, backend="tenon")

Nothing has to be imported for that. This module has what one may want beside it.
"""
from tenon.torch.backend import tenon
from tenon.torch.explain import GraphReport, Report, explain
from tenon.torch.exported import export
from tenon.torch.region import refresh
from tenon.torch.stats import reset_stats, stats

__all__ = ["GraphReport", "Report", "explain", "export", "refresh",
           "reset_stats", "stats", "tenon"]
