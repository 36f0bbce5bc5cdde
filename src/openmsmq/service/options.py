"""The options of a service: how each is written, and what it means."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from openmsmq.access.certificates import read_clients
from openmsmq.directory.ldap.controller import LOGIN_KINDS
from openmsmq.limits import U16_MAX
from openmsmq.service.option import Option
from openmsmq.service.values import (
    OFF,
    read_computer,
    read_computers,
    read_console_managers,
    read_controllers,
    read_destinations,
    read_exceptions,
    read_hosts,
    read_identity,
    read_ipv4,
    read_login_proxy,
    read_managers,
    read_masks,
    read_networks,
    read_origin,
    read_path,
    read_peers,
    read_proxy,
    read_queue_redirections,
    read_redirections,
    read_schedule,
    read_senders,
    read_text,
)
from openmsmq.toml import one_of, or_word, read_flag, some_of, whole

LOG_FORMATS: Final = ("text", "json")
LOG_LEVELS: Final = ("debug", "info", "warning", "error")
_SECONDS_MAX: Final = 10**9


PORT: Final = or_word(whole(0, U16_MAX), OFF)
_LIMIT: Final = whole(1, 1 << 40)
SECONDS: Final = or_word(whole(1, _SECONDS_MAX), OFF)

OPTIONS: Final[Mapping[str, Option]] = {
    "data": Option("manager.data", read_path, "The directory of the queue manager.", "--data DIR"),
    "name": Option(
        "manager.name",
        read_computer,
        "What other computers call this one; if it is not given, the host's own name.",
        "--name NAME",
    ),
    "aliases": Option(
        "manager.aliases", read_computers, "Other names that mean this computer.", "--alias NAME"
    ),
    "bind": Option(
        "manager.bind",
        read_text,
        "The address of the listeners for programs and of the console; the one for other queue"
        " managers too, if only this computer can reach it.",
        "--bind ADDRESS",
    ),
    "peers": Option(
        "manager.peers",
        read_peers,
        "Where other computers are, if DNS does not say so. In a file also"
        ' NAME = { address = "HOST:PORT", id = "GUID", relay = true }: which queue manager must'
        " answer there, and whether it may bring messages of others.",
        "--peer NAME=HOST[:PORT]",
    ),
    "restored": Option(
        "manager.restored",
        read_flag,
        "The directory is a copy, or the machine was rolled back: other managers know more of this"
        " one than it does itself. For one start only; openmsmq restore says so by itself.",
        "--restored",
    ),
    "ready_file": Option(
        "manager.ready_file",
        read_path,
        "Gets process, identity and addresses in JSON when all listeners are open.",
        "--ready-file FILE",
    ),
    "retry": Option(
        "manager.retry",
        read_flag,
        "Retry to open a store that is in use or fails, after 2 minutes, then every 15.",
        "--retry/--no-retry",
    ),
    "app_port": Option("app.port", PORT, "For programs.", "--app-port PORT"),
    "app_socket": Option(
        "app.socket", read_path, "A Unix socket for programs, beside the port.", "--app-socket PATH"
    ),
    "app_socket_for": Option(
        "app.socket_for",
        one_of("owner", "group", "everyone"),
        "Who can open it: the user that serves, its group, or every user of this computer. Others"
        " than that user and root read and send where permissions (unix:UID, unix-group:GID) allow"
        " it.",
    ),
    "loopback": Option(
        "app.loopback",
        one_of("admin", "anonymous"),
        "What a program of this computer is that connects to the port without a token: an"
        " administrator, or anonymous, which reads and sends where permissions allow it.",
    ),
    "clients_max": Option("app.clients_max", _LIMIT, "Connections of programs at a time."),
    "requests_max": Option("app.requests_max", _LIMIT, "Unanswered requests of a connection."),
    "request_bytes_max": Option("app.request_bytes_max", _LIMIT, "Bytes in them."),
    "idle_transaction_limit": Option(
        "app.idle_transaction_limit",
        SECONDS,
        "Seconds after which an open transaction is aborted that its program does nothing with.",
    ),
    "abandon_prepared_after": Option(
        "app.abandon_prepared_after",
        SECONDS,
        "Seconds after which an undecided prepared transaction is aborted.",
    ),
    "console_port": Option("console.port", PORT, "Console and metrics.", "--console-port PORT"),
    "console_hosts": Option("console.hosts", read_computers, "Other names that mean the console."),
    "console_read_only": Option("console.read_only", read_flag, "The console changes nothing."),
    "console_masks": Option("console.masks", read_masks, "Fields of bodies to hide, by right."),
    "console_proxy": Option("console.proxy", read_login_proxy, "A proxy that logs people in."),
    "console_managers": Option(
        "console.managers", read_console_managers, "Other managers that the console shows."
    ),
    "console_audit_reads": Option("console.audit_reads", read_flag, "Looking is audited, too."),
    "binary_port": Option(
        "binary.port",
        PORT,
        "For other queue managers, MSMQ's own among them.",
        "--binary-port PORT",
    ),
    "binary_bind": Option(
        "binary.bind",
        read_text,
        "The address of the listeners for other queue managers (binary, ping); else that of"
        " --bind if it is a loopback address, or 127.0.0.1. The protocol has no encryption and no"
        " login: any computer that can reach the address can send messages to every queue that"
        " takes them.",
        "--binary-bind ADDRESS",
    ),
    "binary_tls_port": Option(
        "binary.tls_port",
        PORT,
        "Takes TLS connections of the managers that have a certificate in manager.peers, and of no"
        " others; MSMQ has no such port. It listens where the binary port does.",
        "--binary-tls-port PORT",
    ),
    "identity": Option(
        "binary.identity",
        read_identity,
        "What is asked of a session before it may speak for the queue manager that it names:"
        " claimed (nothing), address (it comes from where that manager answered, if it was ever"
        " dialled) or pinned (peers names its id).",
    ),
    "sessions_max": Option("binary.sessions_max", _LIMIT, "Sessions of other managers at a time."),
    "pending_bytes_max": Option(
        "binary.pending_bytes_max",
        whole(8 << 20, 1 << 40),
        "Bytes of unfinished packets, over all sessions; beyond it sessions are closed, those of"
        " managers that this one does not know first.",
    ),
    "answers_early": Option(
        "binary.answers_early",
        read_flag,
        "A message that comes without a greeting is answered, though not taken, as MSMQ does.",
    ),
    "ignore_os_name_validation": Option(
        "binary.ignore_os_name_validation",
        read_flag,
        "Take messages for DIRECT=OS: names of other computers, as MSMQ does if set so.",
    ),
    "record": Option(
        "binary.record",
        read_path,
        "Record what is said on connections with other queue managers, as pcap files.",
        "--record DIR",
    ),
    "ping_port": Option(
        "ping.port",
        PORT,
        "Answers other queue managers that ask whether this one is there; MSMQ uses 3527.",
        "--ping-port PORT",
    ),
    "rpc_port": Option(
        "rpc.port",
        PORT,
        "For remote calls: other queue managers and programs that read queues here; MSMQ uses 2105."
        " They log on with NTLM (openmsmq user add).",
        "--rpc-port PORT",
    ),
    "rpc_alternate_port": Option(
        "rpc.alternate_port",
        PORT,
        "A second port for remote calls; MSMQ uses 2103, and clients are referred to this one.",
        "--rpc-alternate-port PORT",
    ),
    "endpoint_mapper_port": Option(
        "rpc.endpoint_mapper_port",
        PORT,
        "Answers clients that ask for the ports of remote calls; they ask at 135, which needs root"
        " or CAP_NET_BIND_SERVICE.",
        "--endpoint-mapper-port PORT",
    ),
    "rpc_bind": Option(
        "rpc.bind",
        read_text,
        "The address that remote calls are taken at; else that of --bind if it is a loopback"
        " address, or 127.0.0.1.",
        "--rpc-bind ADDRESS",
    ),
    "rpc_connections_max": Option(
        "rpc.connections_max", _LIMIT, "Connections at each of these ports at a time."
    ),
    "rpc_allow_unauthenticated": Option(
        "rpc.allow_unauthenticated",
        read_flag,
        "Take remote calls without a login and without encryption, with the role of the user"
        " anonymous (AllowNonauthenticatedRpc of MSMQ).",
    ),
    "rpc_deny_workgroup_clients": Option(
        "rpc.deny_workgroup_clients",
        read_flag,
        "Where calls without a login are taken, only from clients that are in no domain"
        " (NewRemoteReadServerDenyWorkgroupClient of MSMQ, whose rule this is).",
    ),
    "rpc_allow_anonymous": Option(
        "rpc.allow_anonymous",
        read_flag,
        "Take calls without a login for queues that the user anonymous may read"
        " (NewRemoteReadServerAllowNoneSecurityClient of MSMQ).",
    ),
    "rpc_accept_integrity": Option(
        "rpc.accept_integrity",
        read_flag,
        "Take calls of other computers that are signed and not encrypted (DebugRpc of MSMQ).",
    ),
    "rpc_keytab": Option(
        "rpc.keytab",
        read_path,
        "The keytab of this computer, host/NAME: users of its realm log on with Kerberos, too."
        " Needs openmsmq[kerberos].",
    ),
    "supporting_server": Option(
        "rpc.supporting_server",
        read_flag,
        "Serve clients without a queue manager of their own: they create queues, send and receive.",
        "--supporting-server",
    ),
    "supporting_clients_max": Option(
        "rpc.supporting_clients_max", _LIMIT, "Such clients that have queues open at a time."
    ),
    "rpc_managers": Option(
        "rpc.managers",
        read_managers,
        "Managers of other computers whose queues programs read through this one, by the computer"
        ' in DIRECT=OS: names: NAME = { user = "...", password_file = "...", address = "HOST:PORT",'
        ' level = "privacy" }. Programs need the right to read these names.',
    ),
    "srmp_port": Option(
        "srmp.port",
        PORT,
        "Takes messages over HTTP, and sends to DIRECT=HTTP names.",
        "--srmp-port PORT",
    ),
    "srmp_bind": Option(
        "srmp.bind",
        read_text,
        "The address that this port listens on; else that of the ports for other queue managers"
        " (--binary-bind). Without --tls-client-ca any computer that can reach it can send messages"
        " to every queue that takes them.",
        "--srmp-bind ADDRESS",
    ),
    "srmp_url": Option(
        "srmp.url",
        read_origin,
        "Where others reach this port, without a path: stream receipts are sent there, and messages"
        " for its host and port are for this manager. Else the name of the manager, or the loopback"
        " address that it listens on, with the port.",
        "--srmp-url URL",
    ),
    "srmp_ca": Option(
        "srmp.ca",
        read_path,
        "Certificates of authorities, in PEM, that are trusted besides those of the system when"
        " messages are sent over HTTPS. The certificate of tls.cert is shown to those who ask.",
        "--srmp-ca FILE",
    ),
    "srmp_proxy": Option(
        "srmp.proxy",
        read_proxy,
        "The HTTP proxy to send through, or none; else that of HTTP_PROXY, HTTPS_PROXY, NO_PROXY.",
        "--srmp-proxy URL",
    ),
    "srmp_posts_max": Option(
        "srmp.posts_max",
        whole(1, 1000),
        "Messages of one outgoing queue that are posted at a time; with 1 those outside of"
        " transactions keep their order, too.",
    ),
    "srmp_destinations": Option(
        "srmp.destinations",
        read_destinations,
        "Other settings for some destinations, by host or host:port: proxy, ca, posts_max.",
    ),
    "srmp_redirect_outgoing": Option(
        "srmp.redirect_outgoing",
        read_redirections,
        "Hosts that get messages for others, by the URL of the destination, which may end with *;"
        " the first that fits counts. Such a host has to pass the messages on.",
    ),
    "srmp_redirect_except": Option(
        "srmp.redirect_except",
        read_exceptions,
        "Destinations whose messages go straight there, by URL; * at the end is any rest.",
    ),
    "srmp_redirect_incoming": Option(
        "srmp.redirect_incoming",
        read_queue_redirections,
        "Queues that get messages for other URLs of this manager, which may end with *.",
    ),
    "srmp_forward": Option(
        "srmp.forward",
        read_hosts,
        "URLs of other computers whose messages are passed on; * at the end is any rest.",
    ),
    "srmp_receipt_urls": Option(
        "srmp.receipt_urls",
        read_queue_redirections,
        "Where receipts for transactional messages are sent, by the URL of the destination, if not"
        " to srmp.url: the order queue of this manager. * at the end is any rest.",
    ),
    "srmp_retry_after": Option(
        "srmp.retry_after",
        whole(1, 86_400),
        "Seconds between attempts to reach a host that does not answer, at most.",
    ),
    "srmp_resend_after": Option(
        "srmp.resend_after",
        read_schedule,
        "Seconds until transactional messages without a receipt are posted again: the first time,"
        " the second time and so on; the last number counts from then on.",
    ),
    "srmp_disconnect_after": Option(
        "srmp.disconnect_after",
        whole(1, 86_400),
        "Seconds after which a connection that is not used is closed.",
    ),
    "srmp_signing_key": Option(
        "srmp.signing_key",
        read_path,
        "The RSA key, in PEM, that messages over HTTP are signed with. The receivers need its"
        " certificate, which does not travel with a message.",
        "--srmp-signing-key FILE",
    ),
    "srmp_senders": Option(
        "srmp.senders",
        read_senders,
        "The certificates that signatures of messages over HTTP are checked with: PEM files by the"
        " identifier of the queue manager that sends. Without an entry the certificate that the"
        " client shows in TLS counts. They are read again on SIGHUP.",
    ),
    "multicast": Option(
        "multicast.mode",
        one_of("off", "raw", "udp"),
        "Send to MULTICAST= names, and receive for queues with a group address (queue set"
        " --multicast): raw as MSMQ does, which needs CAP_NET_RAW, or udp, without privileges, for"
        " other OpenMSMQ. Anyone on the network can send to these queues.",
        "--multicast off|raw|udp",
    ),
    "multicast_interface": Option(
        "multicast.interface",
        read_ipv4,
        "The address of the network interface for it; else the one that the system would choose.",
        "--multicast-interface ADDRESS",
    ),
    "multicast_udp_port": Option(
        "multicast.udp_port",
        whole(1, U16_MAX),
        "The port of the mode udp, the same everywhere.",
    ),
    "multicast_rate": Option(
        "multicast.rate", whole(1, 1 << 20), "KiB that are sent to a group in a second."
    ),
    "multicast_window": Option(
        "multicast.window",
        whole(1, 86_400),
        "Seconds for which what was sent is kept in memory, for those who missed some of it.",
    ),
    "multicast_ttl": Option(
        "multicast.ttl", whole(1, 255), "Routers that packets may pass, with the first network."
    ),
    "multicast_sources": Option(
        "multicast.sources",
        read_networks,
        "Listen to these addresses or networks only.",
    ),
    "multicast_relays": Option(
        "multicast.relays",
        read_flag,
        "Ask routers for what was missed, if a source says so; else the source itself.",
    ),
    "multicast_router_alert": Option(
        "multicast.router_alert",
        read_flag,
        "Mark packets for routers that know PGM, as RFC 3208 demands.",
    ),
    "tls_cert": Option(
        "tls.cert",
        read_path,
        "The certificate of this computer, in PEM, and those it was issued with.",
        "--tls-cert FILE",
    ),
    "tls_key": Option(
        "tls.key", read_path, "The key of the certificate, in PEM.", "--tls-key FILE"
    ),
    "tls_client_ca": Option(
        "tls.client_ca",
        read_path,
        "Programs need a certificate that one of these has issued; their rights come from a token,"
        " or from tls.clients.",
        "--tls-client-ca FILE",
    ),
    "tls_clients": Option(
        "tls.clients",
        read_clients,
        "What programs may do without a token, by a name of their certificate: CN=common name, or"
        " DNS=one of its host names; the first entry that fits counts. Without one, and without a"
        " token, they have no rights.",
        live=True,
    ),
    "allow_insecure": Option(
        "tls.allow_insecure",
        read_flag,
        "Accept other computers without TLS and tokens: every one of them can read and send.",
        "--allow-insecure",
    ),
    "security_signatures": Option(
        "security.signatures",
        some_of("1.0", "2.0", "3.0"),
        "Versions of signatures that count. 1.0 does not cover the destination: a message can be"
        " sent on to any queue.",
    ),
    "security_hashes": Option(
        "security.hashes",
        some_of("sha512", "sha256", "sha1", "md5", "md4", "md2"),
        "Hashes of signatures that count. SHA-1 is weak, for peers up to Windows Server 2008; MD5,"
        " MD4 and MD2 are worth nothing: such signatures can be forged.",
    ),
    "security_key_bits_min": Option(
        "security.key_bits_min",
        whole(512, 4096),
        "Bits of RSA keys whose signatures count; 1024 is weak, 512 is worth nothing.",
    ),
    "security_ciphers": Option(
        "security.ciphers",
        some_of("aes", "rc4-128", "rc2-128", "rc4-40", "rc2-40"),
        "How bodies of messages may be encrypted, in and out. The 128 ones are poor, for peers up"
        " to Windows Server 2003; the 40 ones are worth nothing: they are read in minutes.",
    ),
    "security_accept_unidentified": Option(
        "security.accept_unidentified",
        read_flag,
        "A queue that demands authentication takes signatures by certificates that are not"
        " registered, too: anyone can make one.",
    ),
    "security_replay_window": Option(
        "security.replay_window",
        SECONDS,
        "Seconds in which a signature counts for one message only; else a signed message that was"
        " recorded can be sent again.",
    ),
    "security_encrypt_direct": Option(
        "security.encrypt_direct",
        read_flag,
        "Encrypt messages to direct names, too, with keys from openmsmq key import; MSMQ does not.",
    ),
    "security_session_key_lifetime": Option(
        "security.session_key_lifetime",
        whole(0, 43_200),
        "Seconds that a key for encrypted bodies is used again, MSMQ's are 600: several times as"
        " fast, but bodies that begin alike can be seen to. 0: each message has a key of its own.",
    ),
    "directory": Option(
        "directory.servers",
        read_controllers,
        "Its Active Directory (openmsmq directory join): controllers, or the domain by DNS name.",
        "--directory URL",
    ),
    "directory_site": Option("directory.site", read_text, "The site of this computer."),
    "directory_auth": Option("directory.auth", one_of(*LOGIN_KINDS), "How it logs on."),
    "directory_user": Option("directory.user", read_text, "The account of this computer."),
    "directory_password_file": Option("directory.password_file", read_path, "Its password."),
    "directory_keytab": Option("directory.keytab", read_path, "Its keys for Kerberos."),
    "directory_ca": Option("directory.ca", read_path, "Who signs certificates of controllers."),
    "event_loop": Option(
        "manager.event_loop",
        one_of("uvloop", "asyncio"),
        "uvloop takes less processor time; without it asyncio, Python's own, is used.",
        "--event-loop uvloop|asyncio",
    ),
    "log_format": Option(
        "log.format",
        one_of(*LOG_FORMATS),
        "Lines for people, or JSON for programs; both go to stderr.",
        "--log-format text|json",
        live=True,
    ),
    "log_level": Option(
        "log.level",
        one_of(*LOG_LEVELS),
        "What is worth a line.",
        "--log-level debug|info|warning|error",
        live=True,
    ),
}
TABLES: Final = tuple(dict.fromkeys(option.table for option in OPTIONS.values()))
