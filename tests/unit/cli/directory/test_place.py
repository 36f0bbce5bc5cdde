from __future__ import annotations

from click.testing import CliRunner

from openmsmq.cli.main import main


def test_a_directory_that_is_not_there() -> None:
    """MQDS-026"""
    place = ("-D", "ldap://127.0.0.1:1", "--auth", "ntlm", "--user", "x")
    found = CliRunner().invoke(
        main, ["directory", "show", *place], env={"OPENMSMQ_DIRECTORY_PASSWORD": "x"}
    )
    assert found.exit_code == 1
    assert "NoDs" in found.output
    assert CliRunner().invoke(main, ["directory", "show"]).exit_code == 2
