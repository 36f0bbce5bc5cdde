"""Queues as tables and streams of Apache Spark: `from openmsmq.spark import register`.

Needs the extra `openmsmq[spark]`; nothing else of the package imports from here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["register"]


def register(spark: SparkSession) -> None:
    """Let a session know the format `msmq` and the SQL functions for messages."""
    from openmsmq.spark.functions import register as register_functions
    from openmsmq.spark.source import MsmqDataSource, PushingDataSource, pushes_filters

    chosen = PushingDataSource if pushes_filters(spark) else MsmqDataSource
    spark.dataSource.register(chosen)
    register_functions(spark)
