# SPDX-License-Identifier: Apache-2.0
"""One function for each operator of ATen that Tenon takes."""
from tenon.torch.lowering import (elementwise, encoder, foreach, indexing,
                                  movement, norms, pooling, products, random,
                                  recurrent, reductions, resampling, special)
from tenon.torch.lowering.core import (LOWERINGS, Builder, Unsupported, Value,
                                       type_of)

__all__ = ["LOWERINGS", "Builder", "Unsupported", "Value", "encoder", "type_of",
           "elementwise", "foreach", "indexing", "movement", "norms", "pooling",
           "products", "random", "recurrent", "reductions", "resampling",
           "special"]
