"""What went wrong in Spark, in one line."""

from __future__ import annotations

import pytest

from openmsmq.errors import QueueNotFound
from openmsmq.pipelines.faults import PipelineError, in_words

ANALYSIS = """[UNRESOLVED_COLUMN.WITH_SUGGESTION] A column with name `lable` cannot be resolved. \
Did you mean one of the following? [`label`]. SQLSTATE: 42703; line 1 pos 7;
'Project ['lable]
+- SubqueryAlias source
"""
SOURCE = """[STREAM_FAILED] Query [id = 1, runId = 2] terminated with exception: \
[PYTHON_STREAMING_DATA_SOURCE_RUNTIME_ERROR] Failed when Python streaming data source perform \
planPartitions: Traceback (most recent call last):
  File "/x/streaming.py", line 120, in partitions
    raise QueueNotFound(name)
openmsmq.errors.queues.QueueNotFound: There is no such queue: orders (MQ_ERROR_QUEUE_NOT_FOUND)
 SQLSTATE: 38000 SQLSTATE: XXKST
"""
CALLED = """[FOREACH_BATCH_USER_FUNCTION_ERROR] An error occurred in the user provided function \
in foreach batch sink. Reason: An exception was raised by the Python Proxy. Return Message: \
Traceback (most recent call last):
  File "/x/py4j/clientserver.py", line 641, in _call_proxy
    return_value = getattr(self.pool[obj_id], method)(*params)
openmsmq.pipelines.tables.FileError: batch 3 has 1 rows of 2 messages

\tat py4j.Protocol.getReturnValue(Protocol.java:476)
"""


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (
            ANALYSIS,
            "A column with name `lable` cannot be resolved. Did you mean one of the following?"
            " [`label`].",
        ),
        (SOURCE, "There is no such queue: orders (MQ_ERROR_QUEUE_NOT_FOUND)"),
        (CALLED, "batch 3 has 1 rows of 2 messages"),
        ("[X] Query [id = 1, runId = 2] terminated with exception: so it is", "so it is"),
        ("one line", "one line"),
        ("\n first\nsecond", "first"),
        ("", "RuntimeError"),
        ("x" * 1000, "x" * 497 + "..."),
    ],
)
def test_the_line_that_says_it(text: str, words: str) -> None:
    assert in_words(RuntimeError(text)) == words


def test_our_own_errors_are_in_words_already() -> None:
    assert in_words(PipelineError("so it is")) == "so it is"
    assert in_words(QueueNotFound("orders")).endswith(": orders")
