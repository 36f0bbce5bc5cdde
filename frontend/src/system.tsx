// Outgoing queues, the map, transactions, pipelines, access, settings, and find.
import { useState } from "preact/hooks";
import { api, managerPath, type ManagerView, type Row } from "./api";
import { age, count, plain } from "./format";
import { Life } from "./message";
import { Apply, Configuration, Sessions, Tokens } from "./service";
import { failed, go, manager, may, query, say, session } from "./state";
import { Dialog, Empty, Facts, Head, useData } from "./ui";

interface Outgoing { name: string; state: string; messages: number; unacknowledged: number; unprocessed: number; oldest_age: number | null; next_hop: string; failures: number; next_retry: number | null; last_error: string; attempts: { time: number; status: string; address: string }[] }
const clock = (seconds: number | null) => seconds === null || !seconds ? "" : new Date(seconds * 1000).toLocaleTimeString("en-GB");

export function OutgoingScreen() {
  const name = manager.value, base = `${managerPath(name)}/outgoing`;
  const [rows, again] = useData(() => api<Outgoing[]>(base), [name], 2);
  const [peers] = useData(() => may("admin") ? api<Row[]>(`${managerPath(name)}/peers`) : Promise.resolve([]), [name], 5);
  const [groups] = useData(() => may("admin") ? api<Row[]>(`${managerPath(name)}/multicast`) : Promise.resolve([]), [name], 5);
  const act = (queue: string, what: string) => api(`${base}/${encodeURIComponent(queue)}/${what}`, "POST").then(() => { say(`${what}: ${queue}`); again(); }, failed);
  return <><Head title={`Outgoing messages of ${name}`} />
    {rows && !rows.length && <Empty>No messages wait for other managers.</Empty>}
    {!!rows?.length && <div class="scroll"><table><thead><tr><th>Destination</th><th>State</th><th class="num">Waiting</th><th class="num">Not acknowledged</th><th class="num">Not received</th><th class="num">Oldest</th><th>Next hop</th><th>Last error</th><th>Next try</th><th><span class="soft">Acts</span></th></tr></thead>
      <tbody>{rows.map((one) => <tr><td class="name mono">{plain(one.name)}</td><td class={one.failures ? "bad" : one.state === "connected" ? "good" : ""}>{one.failures ? `✕ ${one.state}` : one.state}</td><td class="num">{count(one.messages)}</td><td class="num">{count(one.unacknowledged)}</td><td class="num">{count(one.unprocessed)}</td><td class="num">{age(one.oldest_age)}</td><td class="mono">{one.next_hop}</td>
        <td class="wrap">{one.failures ? `${one.failures} failed: ${plain(one.last_error)}` : plain(one.last_error)}</td><td>{clock(one.next_retry)}</td>
        <td class="acts">{may("operate") && <>{one.state === "on hold" ? <button onClick={() => act(one.name, "resume")}>Resume</button> : <button onClick={() => act(one.name, "pause")}>Pause</button>}<button onClick={() => act(one.name, "retry")}>Retry now</button></>}</td></tr>)}</tbody></table></div>}
    <Sessions name={name} />
    {!!peers?.length && <><h2>Other managers</h2><Rows rows={peers} /></>}
    {!!groups?.length && <><h2>Multicast</h2>{groups.some((one) => one.lost) && <p class="bad">✕ Packets were lost for good: messages are missing.</p>}<Rows rows={groups} /></>}</>;
}

export function Rows(props: { rows: Row[] }) {
  const columns = [...new Set(props.rows.flatMap((row) => Object.keys(row)))];
  const shown = (value: unknown) => value === null || value === undefined ? "" : typeof value === "object" ? JSON.stringify(value) : String(value);
  return <div class="scroll" tabIndex={0} role="region" aria-label="Table"><table><thead><tr>{columns.map((name) => <th>{name.replaceAll("_", " ")}</th>)}</tr></thead>
    <tbody>{props.rows.map((row) => <tr>{columns.map((name) => <td class={typeof row[name] === "number" ? "num" : "wrap"}>{plain(shown(row[name]))}</td>)}</tr>)}</tbody></table></div>;
}

export function MapScreen() {
  const names = session.value!.managers;
  const [links] = useData(async () => (await Promise.all(names.map((name) => api<Outgoing[]>(`${managerPath(name)}/outgoing`).then((all) => all.map((one) => ({ from: name, one })), () => [])))).flat(), [], 3);
  const [managers] = useData(() => api<ManagerView[]>("/managers"), [], 5);
  const targetOf = (text: string) => /^DIRECT=(?:OS|TCP|HTTPS?):(?:\/\/)?([^\\/]+)/i.exec(text)?.[1] || text;
  const joined = new Map<string, { from: string; to: string; waiting: number; failures: number; error: string }>();
  for (const { from, one } of links || []) {
    const to = targetOf(one.name), key = `${from}\n${to}`;
    const link = joined.get(key) || { from, to, waiting: 0, failures: 0, error: "" };
    link.waiting += one.messages + one.unacknowledged; link.failures += one.failures; link.error ||= one.failures ? one.last_error : "";
    joined.set(key, link);
  }
  const all = [...joined.values()].slice(0, 60);
  const right = [...new Set(all.map((one) => one.to).filter((to) => !names.includes(to)))].slice(0, 60);
  const at = (list: string[], name: string) => 30 + list.indexOf(name) * 70;
  const spot = (name: string): [number, number] => names.includes(name) ? [20, at(names, name)] : [560, at(right, name)];
  const height = 20 + 70 * Math.max(1, names.length, right.length);
  return <><Head title="Map" />
    <svg class="map" viewBox={`0 0 760 ${height}`} role="img" aria-label="Managers and the ways between them; the table below says the same">
      {all.map((one) => { const [x1, y1] = spot(one.from), [x2, y2] = spot(one.to); return <g class={one.failures ? "failing" : ""}><line x1={x1 + 180} y1={y1 + 20} x2={x2} y2={y2 + 20} /><text x={(x1 + 180 + x2) / 2} y={(y1 + y2) / 2 + 14} text-anchor="middle">{one.failures ? `✕ ${one.failures} failed` : "→"} {count(one.waiting)}</text></g>; })}
      {[...names, ...right].map((name) => { const [x, y] = spot(name); const known = managers?.find((one) => one.name === name); return <g><rect x={x} y={y} width={180} height={40} rx={6} /><text x={x + 10} y={y + 17}>{plain(name).slice(0, 24)}</text><text x={x + 10} y={y + 33}>{known ? `${known.state}, ${count(known.messages)} messages` : "elsewhere"}</text></g>; })}</svg>
    <h2>Ways</h2>{all.length ? <Rows rows={all.map((one) => ({ ...one }))} /> : <Empty>Nothing is on its way between managers.</Empty>}</>;
}

export function Transactions() {
  const name = manager.value, base = `${managerPath(name)}/transactions`;
  const [found, again] = useData(() => api<{ prepared: Record<string, number>; units: Row[] }>(base), [name], 5);
  const [ending, setEnding] = useState<[string, string]>();
  const [typed, setTyped] = useState("");
  const rows = Object.entries(found?.prepared || {});
  return <><Head title={`Transactions of ${name}`} />
    <h2>Prepared, waiting for their outcome</h2>
    {found && !rows.length && <Empty>None.</Empty>}
    {!!rows.length && <div class="scroll"><table><thead><tr><th>Name</th><th class="num">Waits for</th><th><span class="soft">Acts</span></th></tr></thead><tbody>{rows.map(([xid, seconds]) => <tr><td class="wrap mono">{plain(xid)}</td><td class="num">{age(seconds)}</td><td class="acts">{may("admin") && ["commit", "abort"].map((one) => <button onClick={() => { setTyped(""); setEnding([xid, one]); }}>{one}…</button>)}</td></tr>)}</tbody></table></div>}
    <h2>Units that others have not confirmed</h2>{found?.units.length ? <Rows rows={found.units} /> : <Empty>None.</Empty>}
    {ending && <Dialog title={`${ending[1]} ${ending[0]}?`} onClose={() => setEnding(undefined)}><p>This is final. If a coordinator has decided otherwise, its partners disagree for ever. Type the name to confirm.</p>
      <label>Name <input autofocus value={typed} onInput={(e) => setTyped(e.currentTarget.value)} /></label>
      <div class="acts"><button onClick={() => setEnding(undefined)}>Cancel</button><button class="danger" disabled={typed !== ending[0]} onClick={() => api(`${base}/${encodeURIComponent(ending[0])}/${ending[1]}?confirm=${encodeURIComponent(ending[0])}`, "POST").then(() => { say(`${ending[1]}: ${ending[0]}`); setEnding(undefined); again(); }, failed)}>{ending[1]}</button></div></Dialog>}</>;
}

export function Pipelines() {
  const name = manager.value;
  const [rows] = useData(() => api<Row[]>(`${managerPath(name)}/subscriptions`), [name], 5);
  return <><Head title={`Pipelines and subscriptions of ${name}`} />
    <p class="soft">Readers that keep their place: streams of Spark and others. <code>openmsmq pipeline status</code> tells the lag of each.</p>
    {rows && !rows.length && <Empty>No one subscribes to a queue.</Empty>}{!!rows?.length && <Rows rows={rows} />}</>;
}

export function AccessScreen() {
  const name = manager.value;
  const [after, setAfter] = useState(0);
  const [word, setWord] = useState("");
  const [rows] = useData(async () => { let all: Row[] = [], at = after; for (let n = 0; n < 20; n++) { const some = await api<Row[]>(`${managerPath(name)}/audit?after=${at}`); if (!some.length) break; all = [...all, ...some]; at = some[some.length - 1]!.number as number; } return all.reverse(); }, [name, after], 10);
  const shown = rows?.filter((row) => !word || JSON.stringify(row).toLowerCase().includes(word.toLowerCase())).slice(0, 500);
  return <><Head title={`Access to ${name}`} />
    <Facts rows={[["logged in as", session.value!.who], ["role", session.value!.role || "as the token says"], ["console", session.value!.read_only ? "read-only" : "may change things"]]} />
    {may("admin") && <Tokens name={name} />}
    <p class="soft">Permissions of a queue: <code>openmsmq queue permissions show orders</code>.</p>
    <h2>Audit log</h2><div class="filter"><input type="search" class="wide" aria-label="Search the audit log" placeholder="who, what, queue" value={word} onInput={(e) => setWord(e.currentTarget.value)} />{!!after && <button onClick={() => setAfter(0)}>from the beginning</button>}</div>
    {!may("admin") && !rows ? <Empty>The audit log is for administrators.</Empty> : shown && !shown.length ? <Empty>Nothing.</Empty> : shown && <Rows rows={shown} />}</>;
}

export function SettingsScreen() {
  const name = manager.value, base = `${managerPath(name)}/settings`;
  const [found, again] = useData(() => api<{ settings: Row }>(base), [name]);
  const [editing, setEditing] = useState<string>();
  const [text, setText] = useState("");
  const save = () => { let value: unknown = text; try { value = JSON.parse(text); } catch { /* plain text */ } api(base, "PATCH", { [editing!]: value }).then(() => { say(`${editing} = ${text}`); setEditing(undefined); again(); }, failed); };
  return <><Head title={`Settings of ${name}`} /><p class="soft">They last and count at once.</p>
    {found && <div class="scroll"><table><thead><tr><th>Setting</th><th>Value</th><th><span class="soft">Acts</span></th></tr></thead><tbody>{Object.entries(found.settings).map(([key, value]) => <tr><td class="name mono">{key}</td><td class="wrap">{value === null ? <span class="soft">none</span> : plain(String(value)) || <span class="soft">empty</span>}</td><td class="acts">{may("admin") && <button class="plain" onClick={() => { setEditing(key); setText(value === null ? "null" : String(value)); }}>change…</button>}</td></tr>)}</tbody></table></div>}
    {editing && <Dialog title={`Change ${editing}`} onClose={() => setEditing(undefined)}><form onSubmit={(e) => { e.preventDefault(); save(); }}><label>Value <input autofocus value={text} onInput={(e) => setText(e.currentTarget.value)} /></label><div class="acts"><button type="button" onClick={() => setEditing(undefined)}>Cancel</button><button class="main">Save</button></div></form></Dialog>}
    <Apply name={name} onDone={again} />{may("admin") && <Configuration name={name} />}</>;
}

export function Find() {
  const q = query.value.get("q") || "";
  const isId = /^[0-9a-f-]{36}\\\d+$/i.test(q);
  const names = session.value!.managers;
  const [queues] = useData(async () => isId || !q ? [] : (await Promise.all(names.map((name) => api<{ queues: { name: string; messages: number }[] }>(`${managerPath(name)}/queues?everything=true&limit=200&name=${encodeURIComponent(q)}`).then((page) => page.queues.map((one) => ({ name, one })), () => [])))).flat(), [q]);
  const [hits] = useData(async () => { if (isId || !q) return [];
    const found: { name: string; queue: string; lookup: string; label: string }[] = [];
    for (const name of names) { const page = await api<{ queues: { name: string; kind: string }[] }>(`${managerPath(name)}/queues?everything=true&nonempty=true&limit=100`);
      await Promise.all(page.queues.filter((one) => one.kind !== "outgoing").map((one) => api<{ messages: { lookup_id: string; label: string }[] }>(`${managerPath(name)}/queues/${encodeURIComponent(one.name)}/messages?limit=20&filter=${encodeURIComponent(`"${q.replaceAll('"', "")}"`)}`).then((page) => page.messages.forEach((hit) => found.push({ name, queue: one.name, lookup: hit.lookup_id, label: hit.label })), () => undefined))); }
    return found; }, [q]);
  return <><Head title={q ? `Find ${q}` : "Find"} />
    <form class="filter" role="search" onSubmit={(e) => { e.preventDefault(); const to = new FormData(e.currentTarget).get("q"); go(`/find?q=${encodeURIComponent(String(to))}`); }}><input name="q" class="wide" type="search" aria-label="Id of a message, label, text or queue" placeholder="id of a message, label, text, queue" defaultValue={q} key={q} /><button class="main">Find</button></form>
    {isId && <Life id={q} />}
    {!isId && q && <><h2>Queues</h2>{queues?.length ? <ul>{queues.map(({ name, one }) => <li><a href={`/m/${encodeURIComponent(name)}/q/${encodeURIComponent(one.name)}`}>{plain(one.name)}</a> <span class="soft">{name}, {count(one.messages)} messages</span></li>)}</ul> : <p class="soft">{queues ? "None." : "…"}</p>}
      <h2>Messages <span class="soft">(the first of each queue with the text in label or body)</span></h2>{hits?.length ? <ul>{hits.map((hit) => <li><a href={`/m/${encodeURIComponent(hit.name)}/q/${encodeURIComponent(hit.queue)}/${hit.lookup}`}>{plain(hit.label) || "(no label)"}</a> <span class="soft">{hit.name} {plain(hit.queue)}</span></li>)}</ul> : <p class="soft">{hits ? "None." : "…"}</p>}</>}</>;
}
