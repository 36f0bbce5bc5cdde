"""Bounds of the console.

Each says what it counts, and what happens at the limit; docs/limits.md lists all of them.
"""

from __future__ import annotations

from typing import Final

SESSIONS_MAX: Final = 1000
"Browsers that are logged in. At the limit: the one that was silent longest is logged out."
SESSION_IDLE_S: Final = 1800
"Seconds that a browser may be silent. At the limit: it has to log in again."
SESSION_LIFE_S: Final = 8 * 3600
"Seconds that a login lasts. At the limit: the browser has to log in again."
LINK_LIFE_S: Final = 600
"Seconds for which a one-time link is good. At the limit: `openmsmq console login` makes another."
LOGINS_FAILED_MAX: Final = 10
"""Logins from one address that failed in a minute. At the limit: further ones from there are
refused, 429, until the minute is over.
"""
LOGIN_PLACES_MAX: Final = 1000
"""Addresses whose failed logins are counted. At the limit: the one that was silent longest is
forgotten.
"""
LINKS_MAX: Final = 64
"""Connections to managers, one for each manager and login. At the limit: the one that was used
least recently is closed.
"""
LINK_IDLE_S: Final = 120
"Seconds that a connection to a manager is kept without use. At the limit: it is closed."
PAGE_MAX: Final = 1000
"Messages in one answer. At the limit: the answer says where the next page begins."
SCAN_MAX: Final = 5000
"""Messages that one request with a filter looks at. At the limit: the answer says where to go on.
"""
SCAN_S: Final = 0.5
"Seconds that one request with a filter may take. At the limit: the answer says where to go on."
SCAN_BATCH: Final = 50
"""Messages that a scan reads at once, fewer where they take more than a millisecond. At the limit:
others have their turn before it goes on.
"""
TURN_BYTES: Final = 256 * 1024
"""Bytes of messages that a turn of a search is to have, as far as the last ones tell. At the limit:
it reads fewer of them.
"""
SCAN_REST: Final = 3
"""Seconds that all searches together rest for each second that they work. At the limit: a search
waits, so that sends are answered.
"""
ASKED_TOKENS_MAX: Final = 100
"Tokens whose rights on a queue are shown. At the limit: ask about one of the others by its name."
READERS_MAX: Final = 100
"Looks at a message that are listed. At the limit: earlier ones are in the audit log."
AUDIT_LOOK_MAX: Final = 2000
"""Entries of the audit log that are looked at for what concerns a queue or a message. At the limit:
older ones are in the whole log.
"""
HISTORY_MAX: Final = 50_000
"Messages that a search on all managers looks at. At the limit: the answer says so."
HISTORY_S: Final = 5.0
"Seconds that such a search may take. At the limit: the answer says so."
FILTER_MAX: Final = 1000
"Characters of a filter. At the limit: the filter is refused, 400."
SHAPE_MAX: Final = 60
"""Characters of a label that tell kinds of labels apart. At the limit: labels that begin alike are
of one kind.
"""
TERMS_MAX: Final = 40
"Conditions in a filter. At the limit: the filter is refused, 400."
CONTENT_MAX: Final = 256 * 1024
"Bytes of a body that a regular expression or a JSON path looks at. At the limit: no further."
PATH_STEPS_MAX: Final = 20
"Steps of a JSON path. At the limit: the filter is refused, 400."
REQUEST_MAX: Final = 16 * 1024 * 1024
"Bytes of a request. At the limit: it is refused, 413."
PREVIEW_MAX: Final = 64 * 1024
"Characters of a body that a page shows. At the limit: the rest is in the download."
APPLY_MAX: Final = 256 * 1024
"Characters of queues and settings as code. At the limit: the request is refused, 400."
PLANS_MAX: Final = 100
"Plans that are remembered. At the limit: the oldest that is not running is forgotten."
LOGIN_PLANS_MAX: Final = 20
"Plans of one login that are remembered. At the limit: its oldest that is not running is forgotten."
PLAN_IDS_MAX: Final = 100_000
"Messages in one plan. At the limit: the plan is refused, 413; a filter or two plans make less."
NEWER_MAX: Final = 1000
"""Messages that are looked at in one request to count those that came after a plan was made. At the
limit: the next request goes on.
"""
PLAN_BATCH: Final = 100
"Messages that a plan moves in one commit. At the limit: the next commit goes on."
PLAN_PATIENCE_S: Final = 120.0
"Seconds that a plan waits for a manager that is away. At the limit: it stops; it can be run again."
KEYS_MAX: Final = 1000
"Keys of requests and tokens that are remembered. At the limit: the oldest is forgotten."
LETTERS_MAX: Final = 20_000
"""Messages of a dead-letter queue that are looked at to group them. At the limit: the answer says
that there are more.
"""
REASON_MAX: Final = 120
"Characters of the reason that a message itself gives. At the limit: the rest is left out."
GROUPS_MAX: Final = 500
"Groups of dead letters. At the limit: the answer says that there are more."
HINTS_MAX: Final = 20
"""Groups of dead letters for queues that are not there, for which similar names are looked for. At
the limit: the others have no hint.
"""
SAMPLES: Final = 900
"Samples of a series, one each second. At the limit: the oldest is forgotten."
SERIES_MAX: Final = 300
"Queues of a manager with a series: the busiest. At the limit: the others have none."
LISTENERS_MAX: Final = 200
"Pages that are sent what changes. At the limit: one more gets 503, and asks every few seconds."
EXPORT_BATCH: Final = 200
"Messages that an export reads at once. At the limit: it reads on when these are sent."
EXPORT_IDS_MAX: Final = 200
"Messages that one export names. At the limit: it is refused, 413; a filter takes more."
IMPORT_MAX: Final = 10_000
"Messages of one import. At the limit: it is refused, 413; several imports take more."
NAME_MAX: Final = 500
"Characters of the name of a queue or a manager. At the limit: the request is refused, 400."
TRASH_S: Final = 86_400
"Seconds that deleted messages are kept in the trash. At the limit: they are removed."
TRASH_LOOK_S: Final = 600.0
"Seconds between looks into the trash. At the limit: what is too old is removed."
TRASH_KNOWN_MAX: Final = 100_000
"""Messages in the trash whose time of deletion is remembered. At the limit: the time of further
ones is looked up again.
"""
SILENCES_MAX: Final = 1000
"Findings that are silent. At the limit: the one that would end first is heard again."
SILENCE_HOURS_MAX: Final = 720
"Hours that a finding may be silent. At the limit: the request is refused, 400."
NOTES_MAX: Final = 1000
"Groups of dead letters with a note. At the limit: the oldest note is forgotten."
NOTE_MAX: Final = 500
"Characters of such a note. At the limit: the request is refused, 400."
SEARCHES_MAX: Final = 4
"Searches that run at once. At the limit: one more is refused, 429."
LOGIN_SEARCHES_MAX: Final = 2
"Searches of one login that run at once. At the limit: its oldest is stopped."
SEARCHES_KEPT_MAX: Final = 20
"Searches that are remembered. At the limit: the oldest that is over is forgotten."
SEARCH_HITS_MAX: Final = 10_000
"Hits of a search that went on and on. At the limit: it goes no further, 409."
SEARCH_SILENCE_S: Final = 30.0
"Seconds that a search goes on without being asked for. At the limit: it stops: its page is closed."
JOBS_MAX: Final = 4
"Pipelines that are run or verified from the console at once. At the limit: 429 for one more."
JOBS_KEPT_MAX: Final = 20
"Jobs of pipelines that are remembered. At the limit: the oldest that is over is forgotten."
JOB_LINE_MAX: Final = 1024 * 1024
"Bytes of a line that such a job prints. At the limit: the line is passed over."
JOB_ERROR_MAX: Final = 2000
"Bytes of what a job complains about that are kept. At the limit: the last ones are."
REPORT_MAX: Final = 16 * 1024 * 1024
"Bytes of a report of a pipeline that are shown. At the limit: 413; the file itself has all."
QUEUES_SHOWN_MAX: Final = 100
"Queues of a pipeline with their backlogs: the longest. At the limit: the others are in the sum."
JOB_PATIENCE_S: Final = 10.0
"""Seconds that jobs have to end when the console does. At the limit: they are killed; a pipeline
goes on from there when it is run again.
"""
EVENTS_KEPT: Final = 60
"Events that a page which lost its connection can have again. At the limit: it begins anew."
TOPICS_MAX: Final = 200
"Topics of one page. At the limit: the request is refused, 400."
COLUMNS_MAX: Final = 8
"Columns from bodies in a list. At the limit: the request is refused, 400."
COLUMN_VALUES_MAX: Final = 20
"Values of one message in a column. At the limit: the others are left out."
COLUMN_TEXT_MAX: Final = 200
"Characters of one message in a column. At the limit: the rest is left out."
TREE_BYTES_MAX: Final = 1024 * 1024
"Bytes of a body that is shown as a tree. At the limit: there is none, but the text and a download."
TREE_NODES_MAX: Final = 4000
"Nodes of a body that is shown as a tree. At the limit: the others are left out, and it says so."
TREE_DEPTH_MAX: Final = 60
"Nodes inside each other in a tree. At the limit: what is deeper is left out, and it says so."
TREE_TEXT_MAX: Final = 2000
"Characters of a node of a tree. At the limit: the rest is in the download."
MINUTES: Final = 1440
"Points of a series, one each minute. At the limit: the oldest is forgotten."
MINUTE_QUEUES_MAX: Final = 200
"Queues of a manager with a series of a day: the busiest. At the limit: the others have none."
PERSON_MAX: Final = 200
"Characters of the name of a person that a proxy has logged in. At the limit: refused, 400."
