"""Objects serialized by .NET, as BinaryMessageFormatter sends them, as a neutral tree ([MS-NRBF]).

Only plain values are made; the classes the data names are names here.

- An object is a dictionary: `$type` (its class), `$library` (unless it is .NET's own), then its
  members in order. Boxed primitives and `System.Guid`, `DateTime`, `TimeSpan` and `Decimal` are
  their value; dates and durations are ISO 8601 text, decimals their digits.
- An array is a list, one of several dimensions a list of lists, one of bytes is bytes and one of
  characters text. First indexes other than 0 give `{"$lower_bounds": [...], "$values": [...]}`.
- An object or array that is referred to more than once stands in full where the tree, read from the
  top, first meets it, and carries a `$id` there (an array as `{"$id": 5, "$values": [...]}`).
  Elsewhere, and inside itself, it is `{"$ref": 5}`. Text is simply repeated.
- A remote call is a dictionary of the fields of its record, with the array that follows it as
  `CallArray`.

What follows the end of the stream is ignored: programs send buffers longer than what is in them.
"""

from __future__ import annotations

from openmsmq.bodies.body import Tree
from openmsmq.bodies.nbf_values import Budget
from openmsmq.bodies.nrbf_graph import Array, Graph, Instance, MemberReference, Object, Value
from openmsmq.bodies.nrbf_records import ID_KEY, LIBRARY_KEY, TYPE_KEY
from openmsmq.limits import NBF_DEPTH_MAX
from openmsmq.wire.reader import Reader


def read_nrbf(data: bytes) -> Tree:
    """The value a serialization stream holds ([MS-NRBF] 2.7)."""
    reader = Reader(data)
    budget = Budget(reader)
    graph = Graph(reader, budget)
    graph.encounters[graph.root_id] += 1
    root = MemberReference(graph.root_id, 0)
    planter = _Planter(graph, reader, budget)
    if graph.method is None:
        return planter.plant(root, 1)
    if graph.root_id:
        return {**graph.method, "CallArray": planter.plant(root, 2)}
    return graph.method


class _Planter:
    """Makes the tree out of the graph, each object once."""

    def __init__(self, graph: Graph, reader: Reader, budget: Budget) -> None:
        self._graph = graph
        self._reader = reader
        self._budget = budget
        self._planted: set[int] = set()

    def plant(self, value: Value, depth: int) -> Tree:
        """The tree of `value`, `depth` levels from the top."""
        target = self._follow(value) if isinstance(value, MemberReference) else value
        if not isinstance(target, (Instance, Array)):
            return target
        if target.object_id in self._planted:
            return {"$ref": target.object_id}
        self._planted.add(target.object_id)
        if isinstance(target, Instance):
            return self._plant_instance(target, depth)
        return self._plant_array(target, depth)

    def _follow(self, reference: MemberReference) -> Object:
        objects = self._graph.objects
        if reference.object_id not in objects:
            self._reader.fail("IdRef", "no such object", offset=reference.offset)
        value = objects[reference.object_id]
        if isinstance(value, (str, bytes)):
            self._budget.spend("IdRef", text=len(value))
        return value

    def _plant_instance(self, instance: Instance, depth: int) -> Tree:
        self._check_depth(depth)
        metadata = instance.metadata
        tree: dict[str, Tree] = {TYPE_KEY: metadata.name}
        if metadata.library is not None:
            tree[LIBRARY_KEY] = metadata.library
        tree |= self._id(instance.object_id)
        for name, value in zip(metadata.member_names, instance.values, strict=True):
            tree[name] = self.plant(value, depth + 1)
        return tree

    def _plant_array(self, array: Array, depth: int) -> Tree:
        lengths = array.header.lengths
        depth += len(lengths)
        self._check_depth(depth)
        items = [self.plant(item, depth) for item in array.items]
        for length in reversed(lengths[1:]):
            # No items, no rows: a first dimension may be as long as it likes beside an empty one.
            starts = range(0, len(items), length or 1)
            items = [items[start : start + length] for start in starts]
        wrapper = self._id(array.object_id)
        if array.header.lower_bounds:
            wrapper["$lower_bounds"] = list(array.header.lower_bounds)
        return {**wrapper, "$values": items} if wrapper else items

    def _id(self, object_id: int) -> dict[str, Tree]:
        return {ID_KEY: object_id} if self._graph.encounters[object_id] > 1 else {}

    def _check_depth(self, depth: int) -> None:
        if depth > NBF_DEPTH_MAX:
            self._reader.fail("IdRef", f"nested deeper than {NBF_DEPTH_MAX}")
