"""What is built on the API uses the API: `spark`, `pipelines` and `cli` import no server."""

from __future__ import annotations

from tests.tidy.source import PACKAGE, Source, sources

BUILT_ON_THE_API = ("spark", "pipelines", "cli")
VALUES = {
    "errors", "limits", "wire", "names", "properties", "security", "packet", "bodies", "types",
    "soap", "app_protocol", "routing", "capture", "assets", "aio", "toml",
}  # fmt: skip
"Layers of values and pure functions, beside the names of `openmsmq` itself."
OWN = {
    "spark": {"spark"},
    "pipelines": {"pipelines", "spark"},
    "cli": {"cli", "pipelines", "spark", "demo"},
}
ALLOWED = {
    "cli.directory.command": {
        "directory.conditions", "directory.notification", "directory.objects", "directory.rights",
        "directory.writer",
    },
    "cli.directory.enterprise": {
        "directory.conditions", "directory.join", "directory.objects", "directory.writer",
    },
    "cli.directory.managers": {
        "directory.join", "directory.notification", "directory.objects", "directory.writer",
    },
    "cli.directory.place": {
        "directory.ldap.client", "directory.ldap.controller", "directory.ldap.login",
        "directory.notification", "directory.outcome", "directory.writer",
    },
    "cli.doctor.findings": {"store.format", "store.limits"},
    "cli.doctor.http": {"net.addresses", "service.backup", "service.configuration"},
    "cli.doctor.message_security": {
        "access.exchange_keys", "access.senders", "service.backup", "service.configuration",
    },
    "cli.doctor.remote_read": {
        "access.users", "net.addresses", "service.backup", "service.configuration",
    },
    "cli.doctor.security": {"net.addresses", "service.backup", "service.configuration"},
    "cli.maintenance": {"service", "store.check.check", "store.copy"},
    "cli.multicast.command": {
        "transports.pgm", "transports.pgm.network", "transports.pgm.timers",
    },
    "cli.apply": {"client.plan"},
    "cli.options": {"client.address"},
    "cli.serve": {"console.host",
        "process", "runtime.logs", "service.configuration", "service.descriptors",
        "service.listeners", "service.options", "service.service", "service.values",
    },
    "cli.console.command": {
        *("console.attention", "console.desk.models", "console.desk.notes"),
        *("console.desk.silences", "console.limits", "console.managers"),
        *("console.process", "console.sessions"),
    },
    "cli.console.watch": {"console.attention", "console.filters"},
    "cli.explain": {"console.filters"},
    "cli.messages.read": {"console.filters"},
    "cli.messages.redirect": {"console.filters"},
    "cli.security.certificate": {"access.senders"},
    "cli.security.key": {"access.exchange_keys"},
    "cli.security.permissions": {"access.decisions", "access.tokens", "access.users"},
    "cli.token": {"access.tokens"},
    "cli.user": {"access.users"},
    "cli.transaction": {"client._sync.participants"},
    "pipelines.archive.files": {"store.directories", "store.lock"},
    "pipelines.lines": {"store.directories"},
    "pipelines.spec": {"client.address"},
    "pipelines.state": {"store.lock"},
}  # fmt: skip
"Commands that run a service, read or maintain its files, addresses, and locks on directories."


def private_imports(source: Source) -> set[str]:
    """The modules of the server, or private ones of the client, that `source` imports."""
    values = VALUES | OWN[source.part]
    return {
        rest
        for module in source.modules()
        for package, _, rest in [module.partition(".")]
        if package == PACKAGE and rest and rest.partition(".")[0] not in values
    }


def test_what_is_built_on_the_api_imports_only_the_api_and_values() -> None:
    found = {s.name: private_imports(s) for s in sources() if s.part in BUILT_ON_THE_API}
    found = {name: imports for name, imports in found.items() if imports or name in ALLOWED}
    assert found == ALLOWED, "import it from openmsmq, or give it a place in openmsmq.types"


def test_an_import_of_the_server_is_found() -> None:
    text = (
        "from openmsmq import Queue\nfrom openmsmq.engine.core import Core\nimport openmsmq.names"
    )
    assert private_imports(Source("cli.x", text)) == {"engine.core"}
    assert private_imports(Source("spark.x", "from openmsmq.cli.main import main")) == {"cli.main"}
