# SPDX-License-Identifier: Apache-2.0
"""What operations are called in explanations, errors and profiles."""
from __future__ import annotations

import re

from torch import fx


def module_of(node: fx.Node) -> str:
    """The path of the module that a node comes from, "encoder.layers.0"; in the
    backward graph that of its forward. "": of none."""
    stack = node.meta.get("nn_module_stack") or \
        node.meta.get("fwd_nn_module_stack") or {}
    path = next(reversed(stack.values()))[0] if stack else ""
    # Dynamo writes L['self'].encoder.
    return re.sub(r"^L\['\w+'\]\.?|^_empty_nn_module_stack.*", "", path)


def name_of(node: fx.Node) -> str:
    """The module and the node: "encoder.layers.0/addmm_3"."""
    module = module_of(node)
    return f"{module}/{node.name}" if module else node.name
