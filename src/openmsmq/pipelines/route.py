"""`[route]`: messages of one queue to others, by what is in them; each once, as it was."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from openmsmq.pipelines.faults import PipelineError
from openmsmq.pipelines.spec import ManagerOptions, Pipeline, columns_of, read_place
from openmsmq.pipelines.streams import check_source, check_targets, read, to_queues
from openmsmq.pipelines.tables import TomlTable
from openmsmq.pipelines.work import Ready, Watch

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery


@dataclass(frozen=True, slots=True)
class Rule:
    """A condition in SQL over the columns of a message, and the queue it leads to."""

    when: str
    queue: str


@dataclass(frozen=True, slots=True)
class Route:
    """What the table says."""

    place: ManagerOptions
    rules: tuple[Rule, ...]
    "The first one that fits counts."
    default: str
    "Where messages go that no rule fits."


def read_settings(table: TomlTable) -> Route:
    """The table `[route]`."""
    rules = tuple(Rule(rule.text("when"), rule.text("queue")) for rule in table.tables("rules"))
    if not rules:
        raise table.wrong("rules", f"is missing: [[{table.key('rules')}]] with `when` and `queue`")
    return Route(read_place(table), rules, table.text("default"))


def check(pipeline: Pipeline) -> None:
    """Fail before Spark is there."""
    assert pipeline.source is not None
    settings: Route = pipeline.settings
    check_source(pipeline.source)
    check_targets(
        "route", settings.place, [*(rule.queue for rule in settings.rules), settings.default]
    )


def start(spark: SparkSession, pipeline: Pipeline, watch: Watch) -> StreamingQuery:
    """Begin to route."""
    from pyspark.sql.functions import expr, lit, when

    settings: Route = pipeline.settings
    columns = columns_of("packet", *(rule.when for rule in settings.rules))
    frame = read(spark, pipeline, columns)
    for rule in settings.rules:
        _check_condition(frame, rule)
    first, *others = settings.rules
    queue = when(expr(first.when), lit(first.queue))
    for rule in others:
        queue = queue.when(expr(rule.when), lit(rule.queue))
    queue = queue.otherwise(lit(settings.default))
    return to_queues(frame.select("packet", queue.alias("queue")), pipeline, settings.place, "")


def _check_condition(frame: DataFrame, rule: Rule) -> None:
    kind = frame.selectExpr(f"({rule.when}) as fits").schema["fits"].dataType.simpleString()
    if kind != "boolean":
        raise PipelineError(f"route.rules: {rule.when!r} is {kind}, not true or false")


READY: Final = Ready(read_settings, check, start)
