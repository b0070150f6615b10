# SPDX-License-Identifier: Apache-2.0
"""Memory for results, of the library that the inputs are of."""
from __future__ import annotations

import sys
from typing import Any, Sequence

from tenon.errors import error

_NUMPY = {"f32": "float32", "f64": "float64", "f16": "float16", "s64": "int64",
          "s32": "int32", "s8": "int8", "u8": "uint8", "boolean": "bool"}
_TORCH = {**_NUMPY, "bf16": "bfloat16", "f8_e4m3": "float8_e4m3fn",
          "f8_e5m2": "float8_e5m2", "f8_e8m0": "float8_e8m0fnu"}
ML_DTYPES = {"bf16": "bfloat16", "f8_e4m3": "float8_e4m3fn",
             "f8_e5m2": "float8_e5m2", "f8_e8m0": "float8_e8m0fnu"}


def allocate(inputs: Sequence[Any], dtype: str, shape: Sequence[int]) -> Any:
    """A tensor of PyTorch where an input is one, else an array of NumPy; dense
    and uninitialised. Errors: BadDType where neither has the type."""
    torch = sys.modules.get("torch")
    if torch is not None and any(isinstance(i, torch.Tensor) for i in inputs):
        if dtype not in _TORCH:
            raise error("BadDType", f"PyTorch has no {dtype}", "give out")
        return torch.empty(tuple(shape), dtype=getattr(torch, _TORCH[dtype]))
    try:
        import numpy
    except ImportError:
        raise error("BadTensorData", "results need NumPy or PyTorch",
                    "install one of them, or give out") from None
    if dtype in _NUMPY:
        return numpy.empty(tuple(shape), _NUMPY[dtype])
    if dtype in ML_DTYPES:
        try:
            import ml_dtypes
        except ImportError:
            raise error("BadDType", f"NumPy alone has no {dtype}",
                        "install ml_dtypes, or give out") from None
        return numpy.empty(tuple(shape), getattr(ml_dtypes, ML_DTYPES[dtype]))
    raise error("BadDType", f"NumPy has no {dtype}", "give out")
