// What is set for a manager, its configuration, and both as code.
import { useState } from "preact/hooks";
import { api, managerPath, type Row } from "./api";
import { plain } from "./format";
import { Apply, Configuration } from "./service";
import { failed, manager, may, say } from "./state";
import { Command, Dialog, first, Head, useData } from "./ui";

export function SettingsScreen() {
  const name = manager.value, base = `${managerPath(name)}/settings`;
  const [found, again] = useData(() => api<{ settings: Row }>(base), [name]);
  const [editing, setEditing] = useState<string>();
  const [text, setText] = useState("");
  const parsed = (): unknown => { try { return JSON.parse(text); } catch { return text; } };
  const save = () => { api(base, "PATCH", { [editing!]: parsed() }).then(() => { say(`${editing} = ${text}`); setEditing(undefined); again(); }, failed); };
  return <><Head title={`Settings of ${name}`} /><p class="soft">They last and count at once.</p>
    {found && <div class="scroll" tabIndex={0} role="region" aria-label="Settings"><table><thead><tr><th>Setting</th><th>Value</th><th><span class="soft">Acts</span></th></tr></thead><tbody>{Object.entries(found.settings).map(([key, value]) => <tr><td class="name mono">{key}</td><td class="wrap">{value === null ? <span class="soft">none</span> : plain(String(value)) || <span class="soft">empty</span>}</td><td class="acts">{may("admin") && <button class="plain" onClick={() => { setEditing(key); setText(value === null ? "null" : String(value)); }}>change…</button>}</td></tr>)}</tbody></table></div>}
    {editing && <Dialog title={`Change ${editing}`} onClose={() => setEditing(undefined)}><form onSubmit={(e) => { e.preventDefault(); save(); }}><label>Value <input {...first} value={text} onInput={(e) => setText(e.currentTarget.value)} /></label><Command request={{ method: "PATCH", path: base, body: { [editing]: parsed() } }}>{`echo ${JSON.stringify(`settings.${editing} = ${text}`)} > change.toml && openmsmq apply change.toml`}</Command><div class="acts"><button type="button" onClick={() => setEditing(undefined)}>Cancel</button><button class="main">Save</button></div></form></Dialog>}
    <Apply name={name} onDone={again} />{may("admin") && <Configuration name={name} />}</>;
}
