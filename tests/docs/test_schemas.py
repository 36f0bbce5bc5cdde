"""The JSON schemas of TOML files accept what the readers accept, and editors can find them."""

from __future__ import annotations

import json
import re
import tomllib
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from click import Command
from jsonschema import Draft7Validator
from tools.generate_config import example
from tools.generate_docs import ROOT
from tools.generate_schemas import Choices, schemas

from openmsmq.assets import ASSETS
from openmsmq.cli.apply import apply
from openmsmq.cli.topology.command import apply as apply_topology
from openmsmq.client.plan import QUEUE_KEYS, SETTINGS_KEYS, FileError, read_plan
from openmsmq.pipelines.file import read_pipeline
from openmsmq.pipelines.kinds import KINDS
from openmsmq.pipelines.tables import PipelineFileError
from openmsmq.service.configuration import ConfigError, load_config
from openmsmq.service.options import OPTIONS, TABLES
from tests.docs.console import PAGES, blocks

CONFIGURATION, APPLY, PIPELINE, TOPOLOGY = range(4)


@cache
def validators() -> list[Draft7Validator]:
    """The schema of each kind of file; to write them takes a second."""
    return [Draft7Validator(json.loads(text)) for text in schemas().values()]


def kind_of(text: str) -> int:
    """Which schema a file is for, by its tables."""
    keys = tomllib.loads(text).keys()
    if keys & KINDS.keys():
        return PIPELINE
    if keys & {"sites"}:
        return TOPOLOGY
    return APPLY if keys & {"queue", "settings"} else CONFIGURATION


def example_of(command: Command) -> str:
    """The file in the help of `openmsmq apply` or `openmsmq topology apply`."""
    found = re.search(r"(?m:^ *#:schema.*?\n\n)", command.help or "", re.DOTALL)
    assert found
    return found[0]


FILES = [
    *(
        pytest.param(text, id=f"{page.name}-{number}")
        for page in PAGES
        for number, text in enumerate(blocks(page, "toml"), 1)
    ),
    pytest.param("\n".join(example()), id="all-options"),
    pytest.param(example_of(apply), id="apply-help"),
    pytest.param(example_of(apply_topology), id="topology-help"),
]


def properties(kind: int) -> dict[str, Any]:
    schema = validators()[kind].schema
    assert isinstance(schema, dict)
    return dict(schema["properties"])


def mistakes(kind: int, document: Any) -> list[str]:
    return [error.message for error in validators()[kind].iter_errors(document)]


def test_there_are_examples_of_each_kind() -> None:
    kinds = [kind_of(str(file.values[0])) for file in FILES]
    assert min(kinds.count(CONFIGURATION), kinds.count(PIPELINE)) >= 3
    assert APPLY in kinds


@pytest.mark.parametrize("text", FILES)
def test_an_example_of_the_docs_is_valid(text: str) -> None:
    assert mistakes(kind_of(text), tomllib.loads(text)) == []


@pytest.mark.parametrize("kind", [CONFIGURATION, APPLY, PIPELINE, TOPOLOGY])
def test_a_schema_is_a_schema(kind: int) -> None:
    Draft7Validator.check_schema(validators()[kind].schema)


def test_schemas_come_with_the_package() -> None:
    assert {path.name for path in schemas()} <= ASSETS.keys()


def test_pages_say_the_line_that_an_editor_needs() -> None:
    for page, name in (
        ("configuration.md", "configuration"),
        ("cli.md", "apply"),
        ("pipelines.md", "pipeline"),
        ("routing.md", "topology"),
    ):
        assert f"#:schema {name}.schema.json" in (ROOT / "docs" / page).read_text()


WRONG = {
    "unknown table": "[apps]\nport = 1",
    "unknown key": "[app]\nprot = 1",
    "wrong type": '[app]\nport = "x"',
    "out of range": "[app]\nport = 65536",
    "unknown word": '[log]\nlevel = "loud"',
    "text instead of a list": '[manager]\naliases = "shop"',
    "peer without an address": "[manager]\npeers = { office = { relay = true } }",
    "certificate without rights": '[tls]\nclients = { "CN=shop" = [] }',
    "name that is no name of a certificate": '[tls]\nclients = { shop = ["send"] }',
}


@pytest.mark.parametrize("text", WRONG.values(), ids=WRONG)
def test_schema_and_reader_refuse_the_same_configuration(text: str, tmp_path: Path) -> None:
    file = tmp_path / "some.toml"
    file.write_text(text)
    with pytest.raises(ConfigError):
        load_config(file, {"data": tmp_path})
    assert mistakes(CONFIGURATION, tomllib.loads(text))


WRONG_PLANS = {
    "unknown table": "[queues.orders]",
    "unknown key": "[queue.orders]\nqouta = 1",
    "wrong type": '[queue.orders]\njournal = "yes"',
    "negative": "[settings]\nquota = -1",
    "unknown word": '[queue.orders]\nprivacy = "all"',
    "long label": f'[queue.orders]\nlabel = "{"x" * 125}"',
}


@pytest.mark.parametrize("text", WRONG_PLANS.values(), ids=WRONG_PLANS)
def test_schema_and_reader_refuse_the_same_plan(text: str) -> None:
    with pytest.raises(FileError):
        read_plan(text)
    assert mistakes(APPLY, tomllib.loads(text))


WRONG_PIPELINES = {
    "no kind": '[source]\nqueue = "orders"',
    "two kinds": '[audit]\n[archive]\npath = "x"',
    "no source": '[archive]\npath = "x"',
    "no checkpoint": '[source]\nqueue = "orders"\n[sink]\nkind = "console"',
    "unknown key": '[source]\nqueue = "orders"\n[archive]\npaht = "x"',
    "unknown sink": 'checkpoint = "c"\n[source]\nqueue = "orders"\n[sink]\nkind = "topic"',
    "bad trigger": 'trigger = "now"\n[source]\nqueue = "orders"\n[archive]\npath = "x"',
    "no rules": 'checkpoint = "c"\n[source]\nqueue = "orders"\n[route]\ndefault = "rest"',
}


@pytest.mark.parametrize("text", WRONG_PIPELINES.values(), ids=WRONG_PIPELINES)
def test_schema_and_reader_refuse_the_same_pipeline(text: str, tmp_path: Path) -> None:
    file = tmp_path / "some.toml"
    file.write_text(text)
    with pytest.raises(PipelineFileError):
        read_pipeline(file)
    assert mistakes(PIPELINE, tomllib.loads(text))


def test_every_option_and_key_is_in_its_schema() -> None:
    configuration, plan, pipeline = map(properties, (CONFIGURATION, APPLY, PIPELINE))
    assert {f"{table}.{key}" for table in TABLES for key in configuration[table]["properties"]} == {
        option.place for option in OPTIONS.values()
    }
    assert plan["settings"]["properties"].keys() == SETTINGS_KEYS.keys()
    assert plan["queue"]["additionalProperties"]["properties"].keys() == QUEUE_KEYS.keys()
    assert pipeline.keys() >= KINDS.keys()


def test_choices_try_every_combination_once() -> None:
    choices, seen = Choices(), []
    while True:
        first = choices.choose([1, 2])
        seen.append((first, choices.choose(["a", "b"]) if first == 2 else ""))
        if not choices.advance():
            break
    assert seen == [(1, ""), (2, "a"), (2, "b")]
