// The messages of a queue: a page at a time, searched in bounded steps, chosen by frozen ids.
import { useEffect, useRef, useState } from "preact/hooks";
import { api, pageOf, queuePath, type MessageDetails, type MessagePage, type MessageView, type QueueView } from "./api";
import { Body } from "./message";
import { count, many, plain, shortName, size, time } from "./format";
import { isOurs, useKeys } from "./keys";
import { QueueForm } from "./queue";
import { failed, go, live, manager, may, place, query, say } from "./state";
import { Dialog, Empty, first, Head, Link, PlanDialog, useData, Views, type Wanted } from "./ui";

const PAGE = 50;

export function Messages(props: { queue: string }) {
  const name = manager.value, queue = props.queue;
  const base = queuePath(name, queue);
  const filter = query.value.get("f") || "";
  const newest = query.value.get("newest") === "true";
  const at = query.value.get("at");
  const [text, setText] = useState(filter);
  const [rows, setRows] = useState<MessageView[]>();
  const [next, setNext] = useState<string | null>(null);
  const [looked, setLooked] = useState(0);
  const [searching, setSearching] = useState(false);
  const [picked, setPicked] = useState<Set<string>>(new Set());
  const [focus, setFocus] = useState(0);
  const anchor = useRef(0);
  const [following, setFollowing] = useState(false);
  const [open, setOpen] = useState<MessageDetails>();
  const [wanted, setWanted] = useState<Wanted>();
  const [setting, setSetting] = useState(false);
  const [sending, setSending] = useState(false);
  const [turn, setTurn] = useState(0);
  const stop = useRef(false);
  const [info] = useData(() => api<QueueView>(base), [name, queue], 5);
  useEffect(() => { setText(filter); }, [filter]);
  useEffect(() => { load(at, true); return () => { stop.current = true; }; }, [name, queue, filter, newest, at, turn]);

  async function load(from: string | null, fresh: boolean) {
    stop.current = false;
    setSearching(true);
    let found = fresh ? [] : rows || [], seen = fresh ? 0 : looked, start = from;
    if (fresh) { setRows(undefined); setPicked(new Set()); setFocus(0); setOpen(undefined); }
    const goal = found.length + PAGE;
    try {
      do {
        const find = new URLSearchParams({ limit: String(goal - found.length), preview: "true", filter });
        if (newest) find.set("newest", "true");
        if (start !== null) find.set(newest ? "before" : "after", start);
        const page = await api<MessagePage>(`${base}/messages?${find}`);
        found = [...found, ...page.messages]; seen += page.looked_at; start = page.next;
        if (stop.current && fresh) return;
        setRows(found); setLooked(seen); setNext(start);
      } while (start !== null && found.length < goal && !stop.current);
    } catch (error) { failed(error); setRows(found); }
    setSearching(false);
  }

  const row = rows?.[focus];
  const came = live.value[queue]?.[0], seen = useRef<number>();
  useEffect(() => { seen.current = undefined; }, [turn, filter, at, newest, queue]);
  if (seen.current === undefined && came !== undefined && rows) seen.current = came;
  const fresh = came !== undefined && seen.current !== undefined ? came - seen.current : 0;
  useEffect(() => { if (following && fresh !== 0 && !searching && !wanted) setTurn((n) => n + 1); }, [following, came]);
  useEffect(() => {
    if (!row) return;
    const timer = setTimeout(() => api<MessageDetails>(`${base}/messages/${row.lookup_id}`).then(setOpen, () => setOpen(undefined)), 60);
    return () => clearTimeout(timer);
  }, [row?.lookup_id]);

  const follow = (on: boolean) => { setFollowing(on); if (on) { say("follows what arrives, the newest first"); go(address({ newest: "true", at: null }), true); } };
  const pick = (id: string) => setPicked((old) => { const now = new Set(old); if (!now.delete(id)) { now.add(id); anchor.current = rows?.findIndex((one) => one.lookup_id === id) ?? 0; } return now; });
  const act = (what: string) => setWanted(picked.size ? { manager: name, queue, act: what, ids: [...picked] } : { manager: name, queue, act: what, filter });
  const address = (changes: Record<string, string | null>) => {
    const find = new URLSearchParams(query.value);
    for (const [key, value] of Object.entries(changes)) if (value) find.set(key, value); else find.delete(key);
    const words = find.toString();
    return pageOf(name, queue) + (words && "?" + words);
  };
  const inTrash = queue.endsWith(";console-trash");
  const acts = inTrash ? ["restore", "delete"] : ["return", "move", "copy", "delete"];
  const mayDo = (one: string) => one === "delete" || one === "restore" ? may("read") : may("read", "operate");
  useKeys((event) => {
    if ((event.ctrlKey || event.metaKey) && event.key === "a" && rows && !(event.target as HTMLElement).matches("input:not([type=checkbox]), textarea") && !document.querySelector("dialog[open]")) { event.preventDefault(); setPicked(new Set(rows.map((one) => one.lookup_id))); return; }
    if (!isOurs(event) || ((event.key === "Enter" || event.key === " ") && (event.target as HTMLElement).matches("a, button, input"))) return;
    const last = (rows?.length || 1) - 1;
    const moves: Record<string, () => void> = {
      j: () => setFocus(Math.min(last, focus + 1)), ArrowDown: () => setFocus(Math.min(last, focus + 1)),
      k: () => setFocus(Math.max(0, focus - 1)), ArrowUp: () => setFocus(Math.max(0, focus - 1)),
      Home: () => setFocus(0), End: () => setFocus(last), x: () => row && pick(row.lookup_id), " ": () => row && pick(row.lookup_id),
      X: () => rows && setPicked((old) => new Set([...old, ...rows.slice(Math.min(anchor.current, focus), Math.max(anchor.current, focus) + 1).map((one) => one.lookup_id)])),
      t: () => follow(!following), e: () => document.getElementById("export")?.click(),
      Enter: () => row && go(pageOf(name, queue, row.lookup_id)), r: () => act("return"), m: () => act("move"), c: () => act("copy"),
      Delete: () => act("delete"), f: () => document.getElementById("filter")?.focus(), Escape: () => setPicked(new Set()),
    };
    const move = moves[event.key];
    const does = ({ r: "return", m: "move", c: "copy", Delete: "delete" } as Record<string, string>)[event.key];
    if (move && (!does || (acts.includes(does) && mayDo(does)))) { event.preventDefault(); move(); }
  });
  const messages = live.value[queue]?.[0] ?? info?.messages;
  const what = picked.size ? `${count(picked.size)} chosen` : filter ? "all that match" : "all";
  return <div>
    <Head title={shortName(queue)}><span class="soft">{messages === undefined ? "" : `${many(messages, "message")}, ${size(info?.bytes || 0)}`}</span>
      {may("admin") && info && (info.kind === "private" || info.kind === "public") && <button onClick={() => setSetting(true)}>Settings…</button>}
      {may("send") && info && info.kind !== "system" && info.kind !== "journal" && <button onClick={() => setSending(true)}>Send…</button>}
      <a id="export" class="button" href={`/api/v1${base}/export?filter=${encodeURIComponent(filter)}`}>Export</a></Head>
    <form class="filter" role="search" onSubmit={(e) => { e.preventDefault(); go(address({ f: text, at: null })); setTurn(turn + 1); }}>
      <input id="filter" class="wide mono" type="search" aria-label="Filter messages" placeholder='label:order* body:"ACME" size:>10k sent:>-2h -is:transactional' value={text} onInput={(e) => setText(e.currentTarget.value)} />
      <button class="main">Search</button>{searching && <button type="button" onClick={() => { stop.current = true; setSearching(false); }}>Stop</button>}
      <label><input type="checkbox" checked={newest} onChange={(e) => go(address({ newest: e.currentTarget.checked ? "true" : null, at: null }))} />newest first</label>
      <label><input type="checkbox" checked={following} onChange={(e) => follow(e.currentTarget.checked)} />follow</label>
      <button type="button" onClick={() => setTurn(turn + 1)}>Refresh</button></form>
    <div class="filter"><Views at={place.value} /><span class="soft" role="status">{rows ? `${count(rows.length)} shown, ${count(looked)} looked at${searching ? " …" : ""}` : "…"}</span>
      {fresh > 0 && !following && <button class="plain" onClick={() => setTurn(turn + 1)}>{count(fresh)} new: show</button>}
      {acts.some(mayDo) && <span class="acts" role="group" aria-label={`Acts on ${what}`}><span>{what}:</span>
        {acts.filter(mayDo).map((one) => <button onClick={() => act(one)} disabled={!rows?.length}>{one[0]!.toUpperCase() + one.slice(1)}…</button>)}
        {picked.size === 2 && <button onClick={() => go(`${pageOf(name, queue, "compare")}?ids=${[...picked].join(",")}`)}>Compare</button>}
        {!!picked.size && <button class="plain" onClick={() => setPicked(new Set())}>choose none</button>}</span>}</div>
    {rows && !rows.length && !searching && <Empty>{filter ? "No message matches." : "The queue is empty."}{!filter && may("send") && <> Send one here, or: <code>openmsmq message send {shortName(queue)} --body hello</code></>}</Empty>}
    {!!rows?.length && <div class="split"><div><div class="scroll" tabIndex={0} role="region" aria-label="Messages">
      <table><thead><tr><th><span class="soft">✓</span></th><th>Arrived</th><th>Label</th><th class="num">Size</th><th class="num">Prio</th>{rows.some((one) => one.reason) && <th>Reason</th>}<th>Body</th></tr></thead>
        <tbody>{rows.map((one, n) => <tr aria-selected={n === focus} onClick={() => setFocus(n)} onDblClick={() => go(pageOf(name, queue, one.lookup_id))}>
          <td><input type="checkbox" aria-label={`choose ${plain(one.label) || one.id}`} checked={picked.has(one.lookup_id)} onChange={() => { setFocus(n); pick(one.lookup_id); }} /></td>
          <td class="mono" title={one.arrived}>{time(one.arrived)}</td><td class="text name"><Link to={pageOf(name, queue, one.lookup_id)}>{plain(one.label) || "(no label)"}</Link></td>
          <td class="num">{size(one.size)}</td><td class="num">{one.priority}</td>{rows.some((r) => r.reason) && <td class="text">{one.reason}</td>}<td class="text soft mono">{plain(one.preview)}</td></tr>)}</tbody></table></div>
      <p class="acts">{next !== null && <button onClick={() => load(next, false)} disabled={searching}>More</button>}
        {at && <Link to={address({ at: null })}>from the beginning</Link>}
        <span class="soft"><kbd>?</kbd> shows all keys</span></p></div>
      <aside class="pane" aria-label="Preview">{open ? <><h2>{plain(open.message.label) || "(no label)"}</h2><p class="soft">{open.body.format}, {size(open.body.size)}, from {open.message.source.slice(0, 8)}, sent {time(open.message.sent)}</p>
        <Body details={open} base={`${base}/messages/${open.message.lookup_id}`} /><p><Link to={pageOf(name, queue, open.message.lookup_id)}>all properties and its life ›</Link></p></> : <p class="soft">Choose a message.</p>}</aside></div>}
    {wanted && <PlanDialog wanted={wanted} onClose={(changed) => { setWanted(undefined); if (changed) setTurn(turn + 1); }} />}
    {setting && <QueueForm name={queue} onClose={() => setSetting(false)} />}
    {sending && <Send base={base} onClose={(sent) => { setSending(false); if (sent) setTurn(turn + 1); }} />}
  </div>;
}

export function Send(props: { base: string; label?: string; text?: string; onClose: (sent: boolean) => void }) {
  const [label, setLabel] = useState(props.label || "");
  const [text, setText] = useState(props.text || "");
  const [priority, setPriority] = useState("3");
  const [key] = useState(() => crypto.randomUUID?.() || String(Math.random()));
  const send = () => api<{ id: string }>(`${props.base}/messages`, "POST", { label, text, priority: Number(priority) }, { "Idempotency-Key": key })
    .then((sent) => { say(`sent ${sent.id}`); props.onClose(true); }, failed);
  return <Dialog title="Send a message" onClose={() => props.onClose(false)}><form onSubmit={(e) => { e.preventDefault(); send(); }}>
    <label>Label <input {...first} value={label} maxLength={249} onInput={(e) => setLabel(e.currentTarget.value)} /></label>
    <label>Body <textarea rows={8} class="mono" value={text} onInput={(e) => setText(e.currentTarget.value)} /></label>
    <label>Priority <select value={priority} onChange={(e) => setPriority(e.currentTarget.value)}>{[7, 6, 5, 4, 3, 2, 1, 0].map((n) => <option value={n}>{n}{n === 7 ? " (read first)" : n === 3 ? " (usual)" : ""}</option>)}</select></label>
    <div class="acts"><button type="button" onClick={() => props.onClose(false)}>Cancel</button><button class="main">Send</button></div></form></Dialog>;
}
