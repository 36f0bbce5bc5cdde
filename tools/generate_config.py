"""The reference of the configuration, docs/configuration.md, from the options themselves.

`tools.generate_docs` writes it with the other pages.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from openmsmq.service.configuration import CONFIG_FILE, default_text
from openmsmq.service.option import Option
from openmsmq.service.options import OPTIONS, TABLES

_TITLES: Final = {
    "manager": "The manager",
    "app": "Programs",
    "console": "Metrics and health",
    "binary": "Other queue managers",
    "ping": "Whether this one is there",
    "rpc": "Remote calls: reading queues from elsewhere",
    "srmp": "Messages over HTTP",
    "directory": "The directory of the enterprise",
    "multicast": "Multicast",
    "tls": "TLS",
    "security": "Signed and encrypted messages",
    "log": "Logs",
}
_EXAMPLES: Final = {
    "data": '"/var/lib/openmsmq"',
    "name": '"shop01"',
    "aliases": '["shop", "shop.example"]',
    "peers": '{ office = "10.0.0.7:1801", depot = "depot.example" }',
    "ready_file": '"/run/openmsmq/ready.json"',
    "app_socket": '"/run/openmsmq/app.sock"',
    "binary_bind": '"10.0.0.5"',
    "rpc_bind": '"10.0.0.5"',
    "console_hosts": '["mq.shop.example"]',
    "record": '"/var/tmp/sessions"',
    "console_masks": '{ peek = ["card", "iban"] }',
    "console_proxy": '{ addresses = ["10.0.0.9"], header = "X-Forwarded-Email", users ='
    ' { "*@shop.example" = "staff.token" } }',
    "console_managers": '{ shop02 = { address = "10.0.0.2:1811", ca = "ca.pem", token_file ='
    ' "shop02.token" } }',
    "rpc_managers": '{ shop02 = { user = "backend", password_file = "shop02.password" } }',
    "srmp_bind": '"10.0.0.5"',
    "srmp_url": '"https://mq.shop.example"',
    "srmp_ca": '"partners.pem"',
    "srmp_proxy": '"http://proxy.example:3128"',
    "srmp_destinations": '{ "bank.example" = { proxy = "none", posts_max = 1 } }',
    "srmp_redirect_outgoing": '{ "http://*" = "https://gateway.example" }',
    "srmp_redirect_except": '["http://shop02*"]',
    "srmp_forward": '["http://shop02:8080/*"]',
    "srmp_redirect_incoming": '{ "https://mq.shop.example/msmq/orders*" ='
    ' "http://shop01:8080/msmq/private$/orders" }',
    "srmp_receipt_urls": '{ "https://*" = "https://mq.shop.example/msmq/private$/order_queue$" }',
    "rpc_keytab": '"mq1.keytab"',
    "srmp_signing_key": '"signing.key"',
    "srmp_senders": '{ "2f9c41d7-6a0e-4b58-9d13-7c5e8fa02b64" = "supplier.pem" }',
    "directory": '["ldap://dc1.example.com", "ldap://dc2.example.com"]',
    "directory_site": '"HQ"',
    "directory_user": '"SHOP01$@EXAMPLE.COM"',
    "directory_password_file": '"machine.password"',
    "directory_keytab": '"shop01.keytab"',
    "directory_ca": '"domain.pem"',
    "multicast_interface": '"10.0.0.5"',
    "multicast_sources": '["10.0.0.0/24"]',
    "tls_cert": '"server.pem"',
    "tls_key": '"server.key"',
    "tls_client_ca": '"ca.pem"',
    "tls_clients": '{ "CN=web shop" = ["send"], "DNS=reports.example" = ["read"] }',
}
"What there is no default for."


def page() -> str:
    """The text of docs/configuration.md."""
    lines = [
        "# Configuration",
        "",
        "The configuration of [`openmsmq serve`](cli.md#openmsmq-serve), in a TOML file or on the",
        "command line; options count for more. Written by `make docs`.",
        "",
        f"The file is the one that `--config` names, or else `{CONFIG_FILE}` in the directory of",
        "the manager, if it is there. Paths in it are relative to the file. A key that does not",
        "exist is refused. Every port takes a number, 0 for any port, or `off`. What is marked",
        "*at once* changes when the service gets SIGHUP; all else needs a restart. Tokens and",
        "certificates are read again, too ([more](service.md)).",
        "",
        "An editor with TOML support (taplo, *Even Better TOML* in Visual Studio Code) completes",
        "and checks the file: `openmsmq assets DIR` copies the schemas, and the first line of the",
        "file names its own, relative to the file: `#:schema configuration.schema.json`. There is",
        "`apply.schema.json` for [`openmsmq apply`](cli.md#openmsmq-apply) and",
        "`pipeline.schema.json` for [pipelines](pipelines.md).",
        "",
        "Quotas and the other properties of queues and messages are kept in the store: see",
        "[`openmsmq apply`](cli.md#openmsmq-apply).",
        "",
    ]
    for table in TABLES:
        lines.extend(_section(table))
    lines += ["## A file with everything", "", "```toml", *example(), "```"]
    return "\n".join(lines) + "\n"


def example() -> Iterator[str]:
    """A file that says the default of everything, or something else where there is none."""
    for table in TABLES:
        yield from ([""] if table != TABLES[0] else [])
        yield f"[{table}]"
        for name, option in _options(table):
            yield f"{option.key} = {_EXAMPLES.get(name) or _toml(default_text(name))}"


def _section(table: str) -> Iterator[str]:
    yield from (f"## {_TITLES[table]}: `[{table}]`", "")
    yield "| Key | Option | Default | Changes | Meaning |"
    yield "|---|---|---|---|---|"
    for name, option in _options(table):
        flag = option.flag.replace("|", r"\|")
        default = default_text(name)
        columns = (
            f"`{option.key}`",
            f"`{flag}`" if flag else "",
            f"`{default}`" if default else "",
            "at once" if option.live else "",
            option.help.replace("|", r"\|"),
        )
        yield f"| {' | '.join(columns)} |"
    yield ""


def _options(table: str) -> Iterator[tuple[str, Option]]:
    return ((name, option) for name, option in OPTIONS.items() if option.table == table)


def _toml(default: str) -> str:
    is_written = default.isdigit() or default in ("true", "false") or default.startswith("[")
    return default if is_written else f'"{default}"'
