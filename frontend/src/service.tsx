// Sessions, recordings, tokens, the configuration, and settings as code.
import { useState } from "preact/hooks";
import { api, apiWithTag, managerPath } from "./api";
import { age, count, plain, size, time as when } from "./format";
import { failed, may, say } from "./state";
import { Command, copy, Dialog, Empty, Link, useData } from "./ui";

export interface SessionRow { id: string; kind: string; peer: string; name: string; who: string; incoming: boolean; is_open: boolean; age: number; received: number; sent: number }
interface Recording { id: string; state: string; peer: string; began: string; until: string; by: string; files: { name: string; size: number }[] }
export interface Token { id: string; role: string; queues: string[]; label: string; created: string; expires: string | null; used: string | null }
interface Option { place: string; running: string; file: string; is_default: boolean; needs_restart: boolean; reloads: boolean; help: string }
interface Step { action: string; name: string; changes: Record<string, [unknown, unknown]>; messages: number }
const SIGNS: Record<string, string> = { create: "+", change: "~", delete: "−", keep: "=" };
export const RIGHTS = ["watch", "peek", "read", "send", "operate", "admin"];

export function Sessions(props: { name: string }) {
  const base = managerPath(props.name);
  const [rows, again] = useData(() => api<SessionRow[]>(`${base}/sessions`), [props.name], 3);
  const [recordings, look] = useData(() => api<Recording[]>(`${base}/recordings`), [props.name], 3);
  const [ending, setEnding] = useState<SessionRow>();
  const [seconds, setSeconds] = useState("60");
  const [peer, setPeer] = useState("");
  const running = recordings?.find((one) => one.state === "running");
  const act = (work: Promise<unknown>, words: string) => work.then(() => { say(words); again(); look(); }, failed);
  return <><h2>Sessions</h2>
    {rows && !rows.length && <Empty>No one is connected.</Empty>}
    {!!rows?.length && <div class="scroll" tabIndex={0} role="region" aria-label="Sessions"><table><thead><tr><th>Id</th><th>Kind</th><th>Other side</th><th>Who</th><th class="num">For</th><th class="num">Received</th><th class="num">Sent</th><th><span class="soft">Acts</span></th></tr></thead>
      <tbody>{rows.map((one) => <tr><td class="mono"><Link to={`/m/${encodeURIComponent(props.name)}/session/${one.id}`} title="its window and last packets">{one.id}</Link></td><td>{one.incoming ? one.kind : `${one.kind}, dialled`}{one.is_open ? "" : " (not established)"}</td><td class="mono">{plain(one.peer)}</td><td class="wrap">{plain(one.who)} <span class="soft">{plain(one.name)}</span></td><td class="num">{age(one.age)}</td><td class="num">{size(one.received)}</td><td class="num">{size(one.sent)}</td>
        <td class="acts">{may("admin") && <button onClick={() => setEnding(one)}>End…</button>}</td></tr>)}</tbody></table></div>}
    <h2>Recordings</h2><p class="soft">What managers say to each other, in files for <code>openmsmq decode</code> and Wireshark. They hold messages.</p>
    {may("admin") && <form class="filter" onSubmit={(e) => { e.preventDefault(); act(api(`${base}/recordings`, "POST", { seconds: Number(seconds) || 60, peer }), "recording"); }}>
      <label>Seconds <input type="number" min="1" max="3600" value={seconds} onInput={(e) => setSeconds(e.currentTarget.value)} /></label><label>Only with <input placeholder="IP address" value={peer} onInput={(e) => setPeer(e.currentTarget.value)} /></label>
      <button class="main" disabled={!!running}>Record</button></form>}
    {may("admin") && <Command request={{ method: "POST", path: `${base}/recordings`, body: { seconds: Number(seconds) || 60, peer } }}>{`openmsmq recording start --seconds ${Number(seconds) || 60}${peer ? ` --peer ${peer}` : ""}`}</Command>}
    {recordings && !recordings.length && <Empty>Nothing was recorded.</Empty>}
    {!!recordings?.length && <div class="scroll" tabIndex={0} role="region" aria-label="Recordings"><table><thead><tr><th>Recording</th><th>State</th><th>With</th><th>Until</th><th>By</th><th>Files</th><th><span class="soft">Acts</span></th></tr></thead>
      <tbody>{recordings.map((one) => <tr><td class="mono">{one.id}</td><td>{one.state}</td><td>{plain(one.peer) || "all"}</td><td>{when(one.until)}</td><td>{plain(one.by)}</td><td class="wrap">{one.files.map((file) => <div>{may("admin") ? <a href={`/api/v1${base}/recordings/${one.id}/${encodeURIComponent(file.name)}`} download>{file.name}</a> : file.name} {size(file.size)}</div>)}</td>
        <td class="acts">{may("admin") && (one.state === "running" ? <button onClick={() => act(api(`${base}/recordings/${one.id}/stop`, "POST"), `stopped ${one.id}`)}>Stop</button> : <button onClick={() => act(api(`${base}/recordings/${one.id}`, "DELETE"), `removed ${one.id}`)}>Remove</button>)}</td></tr>)}</tbody></table></div>}
    {ending && <Dialog title={`End session ${ending.id} with ${plain(ending.peer)}?`} onClose={() => setEnding(undefined)}><p>Who was connected may connect again. Messages that were not confirmed are sent again.</p><Command request={{ method: "DELETE", path: `${base}/sessions/${ending.id}` }}>{`openmsmq session end ${ending.id}`}</Command>
      <div class="acts"><button onClick={() => setEnding(undefined)}>Cancel</button><button class="danger" onClick={() => { act(api(`${base}/sessions/${ending.id}`, "DELETE"), `ended ${ending.id}`); setEnding(undefined); }}>End</button></div></Dialog>}</>;
}

export function Tokens(props: { name: string }) {
  const base = `${managerPath(props.name)}/tokens`;
  const [rows, again] = useData(() => api<Token[]>(base), [props.name]);
  const [making, setMaking] = useState(false);
  const [role, setRole] = useState("peek");
  const [queues, setQueues] = useState("");
  const [label, setLabel] = useState("");
  const [days, setDays] = useState("90");
  const [secret, setSecret] = useState("");
  const [revoking, setRevoking] = useState<Token>();
  const asked = { role, label, queues: queues.split(/[\s,]+/).filter(Boolean), expires: Number(days) ? new Date(Date.now() + Number(days) * 86_400_000).toISOString() : null };
  const make = () => api<{ secret: string }>(base, "POST", asked).then((made) => { setSecret(made.secret); again(); }, failed);
  return <><h2>Tokens</h2><div class="filter"><button class="main" onClick={() => { setSecret(""); setMaking(true); }}>New token…</button></div>
    {rows && !rows.length && <Empty>There is no token. Programs on other computers need one.</Empty>}
    {!!rows?.length && <div class="scroll" tabIndex={0} role="region" aria-label="Tokens"><table><thead><tr><th>Id</th><th>Role</th><th>Queues</th><th>Label</th><th>Created</th><th>Expires</th><th>Last used</th><th><span class="soft">Acts</span></th></tr></thead>
      <tbody>{rows.map((one) => <tr><td class="mono">{one.id}</td><td>{one.role}</td><td class="wrap">{one.queues.map(plain).join(", ") || "all"}</td><td class="wrap">{plain(one.label)}</td><td>{when(one.created)}</td><td>{one.expires ? when(one.expires) : "never"}</td><td>{one.used ? when(one.used) : <span class="soft">not since the start</span>}</td><td class="acts"><button onClick={() => setRevoking(one)}>Revoke…</button></td></tr>)}</tbody></table></div>}
    {making && <Dialog title="New token" onClose={() => setMaking(false)}>{secret ? <><p role="status">This is shown once. Keep it safe.</p><p><code class="secret">{secret}</code> <button class="plain" onClick={() => copy(secret)}>copy</button></p><div class="acts"><button class="main" onClick={() => setMaking(false)}>Close</button></div></> :
      <form onSubmit={(e) => { e.preventDefault(); make(); }}><label>Role <select value={role} onChange={(e) => setRole(e.currentTarget.value)}>{RIGHTS.map((one) => <option>{one}</option>)}</select></label><label>Queues <input placeholder="all, or patterns: orders* jobs" value={queues} onInput={(e) => setQueues(e.currentTarget.value)} /></label><label>Who has it <input value={label} maxLength={200} onInput={(e) => setLabel(e.currentTarget.value)} /></label><label>Days until it expires, 0 for never <input type="number" min="0" max="36500" value={days} onInput={(e) => setDays(e.currentTarget.value)} /></label>
        <Command request={{ method: "POST", path: base, body: asked }}>{`openmsmq token create --role ${role}${Number(days) ? ` --expires ${days}` : ""}`}</Command><div class="acts"><button type="button" onClick={() => setMaking(false)}>Cancel</button><button class="main">Create</button></div></form>}</Dialog>}
    {revoking && <Dialog title={`Revoke token ${revoking.id}?`} onClose={() => setRevoking(undefined)}><p>{plain(revoking.label) || "It has no label"}. Programs that use it are disconnected.</p><Command request={{ method: "DELETE", path: `${base}/${revoking.id}` }}>{`openmsmq token revoke ${revoking.id}`}</Command>
      <div class="acts"><button onClick={() => setRevoking(undefined)}>Cancel</button><button class="danger" onClick={() => api(`${base}/${revoking.id}`, "DELETE").then(() => { say(`revoked ${revoking.id}`); setRevoking(undefined); again(); }, failed)}>Revoke</button></div></Dialog>}</>;
}

export function Configuration(props: { name: string }) {
  const [rows] = useData(() => api<Option[]>(`${managerPath(props.name)}/configuration`), [props.name]);
  const [all, setAll] = useState(false);
  const shown = rows?.filter((one) => all || !one.is_default || one.running !== one.file);
  return <><h2>Configuration of the service</h2><p class="soft">As it is running, and as its file says. <label class="inline"><input type="checkbox" checked={all} onChange={(e) => setAll(e.currentTarget.checked)} /> all options</label></p>
    {shown && !shown.length && <Empty>Everything has its default.</Empty>}
    {!!shown?.length && <div class="scroll" tabIndex={0} role="region" aria-label="Configuration"><table><thead><tr><th>Option</th><th>Running</th><th>File</th><th>To do</th></tr></thead><tbody>{shown.map((one) => <tr title={one.help}><td class="name mono">{one.place}</td><td class="wrap mono">{plain(one.running)}</td><td class={one.file === one.running ? "" : "wrap mono"}>{one.file === one.running ? <span class="soft">same</span> : plain(one.file)}</td><td>{one.needs_restart ? <span class="warn">restart</span> : one.reloads ? <span class="warn">reload (SIGHUP)</span> : ""}</td></tr>)}</tbody></table></div>}</>;
}

export function Apply(props: { name: string; onDone: () => void }) {
  const base = `${managerPath(props.name)}/apply`;
  const [text, setText] = useState("");
  const [prune, setPrune] = useState(false);
  const [plan, setPlan] = useState<{ steps: Step[]; tag: string }>();
  const wrote = (value: string) => { setText(value); setPlan(undefined); };
  const show = () => apiWithTag<{ steps: Step[] }>(base, { plan: text, prune }).then(([found, tag]) => setPlan({ steps: found.steps, tag }), failed);
  const run = () => api<{ done: number }>(base, "POST", { plan: text, prune, dry_run: false }, { "If-Match": plan!.tag }).then((done) => { say(`${count(done.done)} changes applied`); setPlan(undefined); props.onDone(); }, failed);
  const todo = plan?.steps.filter((one) => one.action !== "keep").length ?? 0;
  const words = (step: Step) => Object.entries(step.changes).map(([key, [old, now]]) => step.action === "create" ? `${key} ${String(now)}` : `${key} ${String(old)} → ${String(now)}`).join(", ");
  return <><h2>Queues and settings as code</h2><form onSubmit={(e) => { e.preventDefault(); show(); }}>
    <label>Desired queues and settings, in TOML <textarea rows={8} spellcheck={false} placeholder={"[settings]\nhistory = 64\n[queue.orders]\ntransactional = true"} value={text} onInput={(e) => wrote(e.currentTarget.value)} /></label>
    <label class="inline"><input type="checkbox" checked={prune} onChange={(e) => { setPrune(e.currentTarget.checked); setPlan(undefined); }} /> delete queues that are not in it</label>
    <div class="acts"><button class={plan ? "" : "main"}>Show the plan</button></div></form>
    {plan && <><table><thead><tr><th><span class="soft">Sign</span></th><th>Step</th><th>Name</th><th>Changes</th></tr></thead><tbody>{plan.steps.map((one) => <tr><td class="mono">{SIGNS[one.action]}</td><td>{one.action}</td><td class="mono">{plain(one.name) || "settings"}</td><td class="wrap">{one.action === "delete" ? `${count(one.messages)} messages go with it` : plain(words(one))}</td></tr>)}</tbody></table>
      <Command request={{ method: "POST", path: base, body: { plan: text, prune, dry_run: false }, headers: { "If-Match": plan.tag } }}>{`openmsmq apply FILE.toml${prune ? " --prune" : ""}`}</Command><div class="acts">{may("admin") && <button class="main" disabled={!todo} onClick={run}>{todo ? `Apply ${count(todo)}` : "Nothing to do"}</button>}</div></>}</>;
}
