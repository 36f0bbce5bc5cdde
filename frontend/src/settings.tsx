// What is set for a manager, its configuration, and both as code.
import { useState } from "preact/hooks";
import { api, managerPath, type Row } from "./api";
import { age, count, plain, title } from "./format";
import { Apply, Configuration } from "./service";
import { failed, manager, may, say } from "./state";
import { Command, Dialog, first, Head, useData } from "./ui";

/** What each is, for who does not know them by heart. */
const MEANINGS: Record<string, string> = {
  quota: "KiB that all messages together may take", journal_quota: "KiB that the journal of sent messages may take", history: "MiB of history that are kept, for lives of messages", audit: "MiB of the audit log; 0 for none", audit_opens: "the audit log has also who opened which queue",
  time_to_reach_queue: "seconds that a message to another computer may travel, if it does not say", confirmation_grace: "seconds after its time in which a sent message can still be confirmed", dedup_count: "ids of sent messages that are remembered, against duplicates", dedup_time: "seconds for which they are remembered",
  clock_tolerance: "seconds that clocks of other managers may be behind", inherited_names: "former names of this computer", keep_refused: "keep what is not accepted in Refused$", reports: "send reports about messages that are traced", insecure_nacks: "tell senders also that a queue does not exist",
  permissions: "who may do what with the manager, in SDDL", new_queues: "what a new queue allows, if its creator does not say", hardened: "refuse what is not needed and could be misused", topology: "sites and links to route by",
};

const UNITS: Record<string, string> = { quota: "KiB", journal_quota: "KiB", history: "MiB", audit: "MiB", time_to_reach_queue: "s", confirmation_grace: "s", dedup_time: "s", clock_tolerance: "s" };
/** A value as people read it; the dialog has it as it is. */
function shown(key: string, value: unknown) {
  if (value === null || value === "") return <span class="soft">{key in UNITS ? "no limit" : "none"}</span>;
  if (typeof value === "boolean") return value ? "yes" : "no";
  const unit = UNITS[key];
  if (typeof value !== "number") return plain(String(value));
  return <>{count(value)}{unit && ` ${unit}`}{unit === "s" && value >= 3600 && <span class="soft"> ({age(value)})</span>}</>;
}

export function SettingsScreen() {
  const name = manager.value, base = `${managerPath(name)}/settings`;
  const [found, again] = useData(() => api<{ settings: Row }>(base), [name]);
  const [editing, setEditing] = useState<string>();
  const [text, setText] = useState("");
  const parsed = (): unknown => { try { return JSON.parse(text); } catch { return text; } };
  const save = () => { api(base, "PATCH", { [editing!]: parsed() }).then(() => { say(`${editing} = ${text}`); setEditing(undefined); again(); }, failed); };
  return <><Head title={`Settings of ${name}`} /><p class="soft">A change takes effect at once, and is kept.</p>
    {found && <div class="scroll" tabIndex={0} role="region" aria-label="Settings"><table><thead><tr><th>Setting</th><th>Meaning</th><th>Value</th><th><span class="soft">Acts</span></th></tr></thead><tbody>{Object.entries(found.settings).map(([key, value]) => <tr><td class="name mono">{key}</td><td class="soft">{MEANINGS[key]}</td><td class="wrap">{shown(key, value)}</td><td class="acts">{may("admin") && <button class="plain" onClick={() => { setEditing(key); setText(value === null ? "null" : String(value)); }}>change…</button>}</td></tr>)}</tbody></table></div>}
    {editing && <Dialog title={`Change ${editing}`} onClose={() => setEditing(undefined)}><form onSubmit={(e) => { e.preventDefault(); save(); }}><label>{title(MEANINGS[editing] || "value")} <input {...first} value={text} onInput={(e) => setText(e.currentTarget.value)} /></label><Command request={{ method: "PATCH", path: base, body: { [editing]: parsed() } }}>{`echo ${JSON.stringify(`settings.${editing} = ${text}`)} > change.toml && openmsmq apply change.toml`}</Command><div class="acts"><button type="button" onClick={() => setEditing(undefined)}>Cancel</button><button class="main">Save</button></div></form></Dialog>}
    <Apply name={name} onDone={again} />{may("admin") && <Configuration name={name} />}</>;
}
