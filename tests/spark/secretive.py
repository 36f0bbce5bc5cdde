"""Spark with all its eyes open: `python -m tests.spark.secretive MANAGER FOLDER`, token on stdin.

It reads and writes with a token, in batches and streams, and prints whatever Spark shows: plans,
logs, and what its web pages are made of. Its event log is in the folder.
"""

from __future__ import annotations

import sys
from pathlib import Path
from urllib.request import urlopen

from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from openmsmq.spark import register


def main() -> None:
    """Work, and show everything."""
    manager, folder, token = sys.argv[1], sys.argv[2], sys.stdin.readline().strip()
    Path(folder, "events").mkdir()
    spark = (
        SparkSession.builder.master("local[2]")
        .config("spark.eventLog.enabled", "true")
        .config("spark.eventLog.dir", f"{folder}/events")
        .config("spark.eventLog.compress", "false")
        .config("spark.ui.port", "0")
        .config("spark.sql.warehouse.dir", f"{folder}/warehouse")
        .getOrCreate()
    )
    register(spark)
    spark.sparkContext.setLogLevel("INFO")
    options = {"manager": manager, "token": token, "queue": "in"}
    rows = spark.read.format("msmq").schema("label string, body binary").options(**options).load()
    rows.explain(True)
    rows.explain("formatted")
    rows.write.format("msmq").options(**options | {"queue": "out"}).mode("append").save()
    spark.sql(
        "create temporary view orders using msmq options"
        f" (manager '{manager}', queue 'in', token '{token}')"
    )
    spark.sql("select count(label) from orders").collect()
    stream = spark.readStream.format("msmq").schema("label string, body binary").options(**options)
    sink = stream.load().writeStream.format("msmq").options(**options | {"queue": "out"})
    query = sink.option("checkpointLocation", f"{folder}/c").trigger(availableNow=True).start()
    query.awaitTermination()
    query.explain(True)
    try:
        spark.read.format("msmq").options(**options | {"queue": "nowhere"}).load().collect()
    except PySparkException as error:
        print(error)  # noqa: T201
    url = f"{spark.sparkContext.uiWebUrl}/api/v1/applications/{spark.sparkContext.applicationId}"
    for page in ("/environment", "/sql?details=true&length=1000", "/jobs", "/stages"):
        print(urlopen(url + page).read().decode())  # noqa: T201
    for page in ("/SQL/", "/StreamingQuery/", "/environment/"):
        print(urlopen(f"{spark.sparkContext.uiWebUrl}{page}").read().decode())  # noqa: T201
    print("shown")  # noqa: T201
    spark.stop()


if __name__ == "__main__":
    main()
