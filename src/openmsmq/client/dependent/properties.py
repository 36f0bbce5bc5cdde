"""Properties of queues as a dependent client gives them ([MS-MQMP] 3.1.1.12)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from openmsmq.errors import UnsupportedOperation
from openmsmq.interfaces.supporting_server.queue_properties import CREATED
from openmsmq.interfaces.variants import VariantArgument
from openmsmq.properties.propid import Q
from openmsmq.properties.variant import PropVariant
from openmsmq.properties.vartype import VarType

_DEFAULTS: Final[Mapping[str, Any]] = {
    "abort_limit": 0,
    "base_priority": 0,
    "multicast": "",
    "poison": "subqueue",
    "retry_delay": 0,
}
"What goes without saying: the protocol has no words for it, or none for this value."
_ITEMS: Final = {name: item for item, name in CREATED.items()} | {"name": Q.PATHNAME}


def property_values(
    given: Mapping[str, Any],
) -> tuple[tuple[int, ...], tuple[VariantArgument, ...]]:
    """Numbers and values of properties, only such as the protocol has ([MS-MQMP] 3.1.1.12)."""
    propids, values = [], []
    for name, value in given.items():
        if name in _DEFAULTS and value == _DEFAULTS[name]:
            continue
        item = _ITEMS.get(name)
        if item is None:
            raise UnsupportedOperation(f"{name}: no property that a dependent client can set")
        propids.append(item.value)
        written = int(value) if item.vartype == VarType.VT_UI1 else value
        values.append(VariantArgument.of(PropVariant(item.vartype, written)))
    return tuple(propids), tuple(values)
