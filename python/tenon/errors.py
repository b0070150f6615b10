# SPDX-License-Identifier: Apache-2.0
"""What failing calls raise."""
from __future__ import annotations

from tenon import _abi

_NAMES = {value: name.removeprefix("TENON_E_")
          for name, value in vars(_abi).items() if name.startswith("TENON_E_")}


class TenonError(RuntimeError):
    """A call of Tenon failed.

    code: the stable number of the error.
    name: its name, such as "ShapeMismatch".
    message: what is wrong, with numbers.
    op_kind, op_name, op_id: the operation it is about; empty texts if none.
    hint: what to do; may be empty.
    """

    def __init__(self, code: int, message: str, *, op_kind: str = "",
                 op_name: str = "", op_id: int = 0, hint: str = "",
                 text: str | None = None):
        super().__init__(text or message)
        self.code = code
        self.name = _NAMES.get(code, "")
        self.message = message
        self.op_kind = op_kind
        self.op_name = op_name
        self.op_id = op_id
        self.hint = hint

    def __reduce__(self):
        return (_rebuild, (self.code, self.message, self.op_kind, self.op_name,
                           self.op_id, self.hint, str(self)))


def _rebuild(code, message, op_kind, op_name, op_id, hint, text):
    return TenonError(code, message, op_kind=op_kind, op_name=op_name,
                      op_id=op_id, hint=hint, text=text)


def error(name: str, message: str, hint: str = "") -> TenonError:
    """An error that is found in Python, by its name in the list of codes."""
    return TenonError(getattr(_abi, "TENON_E_" + name), message, hint=hint,
                      text=f"{name}: {message}" + (f"; {hint}" if hint else ""))
