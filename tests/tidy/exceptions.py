"""What the tests of structure let pass today. Nothing is added here without a reason."""

from __future__ import annotations

from typing import Final

GERUNDS: Final = {
    "cli.outgoing": "the name of the command; outgoing queues",
    "engine.arrivals.incoming": "incoming sequences: an adjective",
    "engine.outgoing": "outgoing queues: an adjective",
    "packet.framing": "the established noun for cutting a stream into packets",
    "packet.ping": "the packet's name",
    "routing": "the established noun",
    "transports.mqqb.ping": "the packet's name",
    "types.outgoing": "outgoing queues: an adjective",
}
"Modules whose names end in -ing, with the reason why they are nouns or adjectives nevertheless."

PARTS_PENDING: Final[tuple[str, ...]] = ()
"Folders whose part of the product does not work yet: a `not yet` may still wait for them."

MAX_ELSEWHERE: Final = {
    "access.tokens._TEXT_MAX": "of a token that is looked up; longer ones match none",
    "app_protocol.payloads.COUNT_MAX": "derived from BATCH_SIZE_MAX",
    "app_protocol.payloads._SEEK_MAX": "range of a value",
    "bodies.activex._TICKS_MAX": "range of a value",
    "bodies.nbf_values._INT31_MAX": "range of a value",
    "bodies.nbfx_text._SCALE_MAX": "range of a value",
    "bodies.nrbf_primitives._SCALE_MAX": "range of a value",
    "cli.messages.imports.LINE_MAX": "of a file that the user names",
    "client.plan._HISTORY_MAX": "range of an option",
    "client.plan._SECONDS_MAX": "range of an option",
    "cli.token._DAYS_MAX": "range of an option",
    "cli.token._LABEL_MAX": "range of an option",
    "client._async.subscription.SIZE_MAX": "default of an argument",
    "engine.storage.history._DETAIL_MAX": "text in the history, cut",
    "engine.subscriptions.info.READ_SIZE_MAX": "derived from COUNT_MAX",
    "engine.transactions.transaction._ID_MAX": "range of a value",
    "names.parts._SHOWN_MAX": "text in an error, cut",
    "packet.builder._LABEL_SIZE_MAX": "derived from LABEL_UNITS_MAX",
    "packet.builder._SIZE_MAX": "local copy of PACKET_SIZE_MAX, for speed",
    "packet.describe._SIZE_MAX": "derived from PACKET_SIZE_MAX",
    "pipelines.reports.page.CELL_MAX": "text on a page, cut",
    "properties.message.PRIORITY_MAX": "range of a value",
    "properties.values.LINK_COST_MAX": "range of a value",
    "runtime.logs._WORDS_MAX": "text that tells kinds of lines apart, cut",
    "service.options._SECONDS_MAX": "range of an option",
    "soap.scalars._SHOWN_MAX": "text in an error, cut",
    "store.lock._HOLDER_SIZE_MAX": "text in an error, cut",
    "store.memory._KEY_SIZE_MAX": "LMDB's own, asserted",
    "store.migrations._INHERITED_MAX": "of a migration, once",
    "types.delivery.MILLIS_MAX": "range of a value",
    "types.fields._ACKNOWLEDGE_MAX": "range of a value",
    "types.fields._LABEL_MAX": "derived from LABEL_UNITS_MAX",
    "types.lookup.LOOKUP_MAX": "range of a value",
    "types.message._SHOWN_MAX": "text in a `repr`, cut",
    "types.settings.CLOCK_TOLERANCE_MAX": "range of a setting",
    "types.settings.DEDUP_COUNT_MAX": "range of a setting",
}
"Constants named ..._MAX outside the modules of limits, with the reason."
