// The messages of a queue: a page at a time, searched in bounded steps, chosen by frozen ids.
import { useEffect, useRef, useState } from "preact/hooks";
import { api, ApiError, managerPath, pageOf, queuePath, type MessageDetails, type MessagePage, type MessageView, type QueueView } from "./api";
import { Body } from "./body";
import { age, bodyKind, count, destination, exact, many, plain, shortName, size, time, title } from "./format";
import { QueueTabs } from "./inspect";
import { isOurs, useKeys } from "./keys";
import { QueueForm } from "./queue";
import { failed, go, live, manager, managerOf, may, place, query, say } from "./state";
import { Chart, Command, Dialog, Empty, Facts, first, Head, Link, PlanDialog, Spans, useData, Views, When, type Wanted } from "./ui";

const PAGE = 50;
/** Columns that every message has; those of bodies are paths. */
const KNOWN: Record<string, (one: MessageView) => string | number> = {
  size: (one) => size(one.size), priority: (one) => one.priority, reason: (one) => one.reason, body: (one) => plain(one.preview), format: (one) => one.format, sent: (one) => time(one.sent),
  from: (one) => plain(managerOf(one.source)), sender: (one) => plain(one.sender), to: (one) => plain(destination(one.destination)), app: (one) => one.app_specific, class: (one) => one.message_class,
  correlation: (one) => /[1-9a-f]/.test(one.correlation_id) ? one.correlation_id : "", response: (one) => plain(destination(one.response_queue)), aborts: (one) => one.abort_count, id: (one) => one.id,
};
const NUMBERS = ["size", "priority", "app", "class", "aborts"];
const USUAL = ["size", "priority", "body"];
const isPath = (column: string) => /^(json:|xpath:|header\.)/.test(column);
const heading = (column: string) => isPath(column) ? column.replace(/^(json:\$\.?|xpath:\/*|header\.)/, "") || column : title(column);

/** Where a search reads: the cost is known before it begins. */
const costOf = (text: string) => !text.trim() ? "" : /(^|[\s(-])(body|text|re|json|xpath|format|header\.[^:\s]+):/.test(text) || /(^|\s)-?"?[^\s:"]+"?(\s|$)/.test(text.replace(/\S+:("[^"]*"|\S+)/g, "").replace(/\bOR\b|[()]/g, "")) ? "reads bodies" : "reads properties only";

export function Messages(props: { queue: string }) {
  const name = manager.value, queue = props.queue;
  const base = queuePath(name, queue);
  const filter = query.value.get("f") || "";
  const newest = query.value.get("newest") === "true";
  const at = query.value.get("at"), since = query.value.get("time") || "";
  const columns = query.value.has("c") ? query.value.getAll("c") : USUAL;
  const paths = columns.filter(isPath);
  const [text, setText] = useState(filter);
  const [rows, setRows] = useState<MessageView[]>();
  const [next, setNext] = useState<string | null>(null);
  const [looked, setLooked] = useState(0);
  const [searching, setSearching] = useState(false);
  const [picked, setPicked] = useState<Set<string>>(new Set());
  const [everything, setEverything] = useState(false);
  const [focus, setFocus] = useState(0), [cell, setCell] = useState(2);
  const grid = useRef<HTMLTableElement>(null);
  const anchor = useRef(0);
  const trail = useRef<(string | null)[]>([]);
  const [following, setFollowing] = useState(false);
  const [open, setOpen] = useState<MessageDetails>(), [gone, setGone] = useState(false);
  const [wanted, setWanted] = useState<Wanted>();
  const [dialog, setDialog] = useState<"" | "set" | "send" | "import" | "columns" | "time">("");
  const [charts, setCharts] = useState(false);
  const [turn, setTurn] = useState(0);
  const run = useRef(0);
  const [wrong, setWrong] = useState("");
  const [info] = useData(() => api<QueueView>(base).catch((error) => { if (error instanceof ApiError && error.status === 404) return undefined; throw error; }), [name, queue], 5);
  useEffect(() => { setText(filter); }, [filter]);
  const chooseNone = () => { setPicked(new Set()); setEverything(false); };
  const chooseAll = () => { setPicked(new Set()); setEverything(true); };
  useEffect(() => { chooseNone(); trail.current = []; }, [name, queue, filter, newest, since]);
  useEffect(() => { load(); return () => { run.current++; }; }, [name, queue, filter, newest, at, since, turn, paths.join("\n")]);

  async function load() {
    const mine = ++run.current;
    setSearching(true); setRows(undefined); setFocus(0); setOpen(undefined); setLooked(0); setWrong("");
    let found: MessageView[] = [], seen = 0, start = at;
    try {
      do {
        const find = new URLSearchParams({ limit: String(PAGE - found.length), preview: "true", filter });
        if (newest) find.set("newest", "true");
        if (since) find.set("time", since);
        if (start !== null) find.set(newest ? "before" : "after", start);
        for (const path of paths) find.append("column", path);
        const page = await api<MessagePage>(`${base}/messages?${find}`);
        if (mine !== run.current) return;
        found = [...found, ...page.messages]; seen += page.looked_at; start = page.next;
        setRows(found); setLooked(seen); setNext(start);
      } while (start !== null && found.length < PAGE);
    } catch (error) { if (mine !== run.current) return; if (error instanceof ApiError && error.status !== 401) setWrong([error.message, error.advice].filter(Boolean).join(". ")); else failed(error); setRows(found); }
    setSearching(false);
  }
  const stop = () => { run.current++; setSearching(false); };

  const row = rows?.[focus];
  const came = live.value[queue]?.[0], seen = useRef<number>();
  useEffect(() => { seen.current = undefined; }, [turn, filter, at, newest, queue, since]);
  if (seen.current === undefined && came !== undefined && rows) seen.current = came;
  const fresh = came !== undefined && seen.current !== undefined ? came - seen.current : 0;
  useEffect(() => { if (following && fresh !== 0 && !searching && !wanted) setTurn((n) => n + 1); }, [following, came]);
  useEffect(() => {
    if (!row) return;
    const timer = setTimeout(() => api<MessageDetails>(`${base}/messages/${row.lookup_id}`).then((found) => { setOpen(found); setGone(false); }, (error) => { setOpen(undefined); setGone(error instanceof ApiError && error.status === 404); }), 60);
    return () => clearTimeout(timer);
  }, [row?.lookup_id]);
  /** The one place of the grid that Tab reaches: what is to be used in its cell, or the cell. */
  const placeAt = (n: number, at: number) => { const found = grid.current?.tBodies[0]?.rows[n]?.cells[at]; return found?.querySelector<HTMLElement>("a, input") || found; };
  const move = (n: number, at = cell) => {
    const found = placeAt(Math.max(0, Math.min((rows?.length || 1) - 1, n)), Math.max(0, Math.min(2 + cells.length, at)));
    found?.focus(); found?.scrollIntoView?.({ block: "nearest", inline: "nearest" });
  };
  const focused = (target: EventTarget) => { const at = (target as HTMLElement).closest("td"); if (at) { setFocus((at.parentElement as HTMLTableRowElement).sectionRowIndex); setCell(at.cellIndex); } };

  const address = (changes: Record<string, string | string[] | null>) => {
    const find = new URLSearchParams(query.value);
    for (const [key, value] of Object.entries(changes)) { find.delete(key); for (const one of Array.isArray(value) ? value : value ? [value] : []) find.append(key, one); }
    const words = find.toString();
    return pageOf(name, queue) + (words && "?" + words);
  };
  const returning = useRef(false);
  const leave = () => { returning.current = !!grid.current?.contains(document.activeElement); };
  useEffect(() => { if (rows?.length && returning.current) { returning.current = false; move(0); } }, [rows]);
  const forward = () => { if (next !== null && !searching) { leave(); trail.current.push(at); go(address({ at: next })); } };
  const back = () => { if (at !== null) { leave(); go(address({ at: trail.current.pop() ?? null })); } };
  const follow = (on: boolean) => { setFollowing(on); if (on) { say("follows what arrives, the newest first"); go(address({ newest: "true", at: null, time: null }), true); } };
  const show = (next: string[]) => go(address({ c: next.length ? next : ["size"] }), true);
  const addColumn = (path: string) => { if (columns.includes(path)) return; if (paths.length >= 8) { say("at most 8 columns from bodies", true); return; } show([...columns.filter((one) => one !== "body"), path]); say(`column ${heading(path)}`); };
  const narrow = (more: string) => go(address({ f: `${filter} ${more}`.trim(), at: null }));
  const pick = (id: string) => {
    setEverything(false);
    setPicked((old) => { const now = new Set(everything ? rows?.map((one) => one.lookup_id) : old); if (!now.delete(id)) { now.add(id); anchor.current = rows?.findIndex((one) => one.lookup_id === id) ?? 0; } return now; });
  };
  /** All that the list would show on all its pages. */
  const matching = since ? `${filter.includes(" OR ") ? `(${filter})` : filter} arrived:${newest ? "<=" : ">="}${since}`.trim() : filter;
  const act = (what: string) => setWanted(picked.size ? { manager: name, queue, act: what, ids: [...picked] } : { manager: name, queue, act: what, filter: matching });
  const inTrash = queue.endsWith(";console-trash");
  const acts = inTrash ? ["restore", "delete"] : ["return", "move", "copy", "delete"];
  const mayDo = (one: string) => one === "delete" || one === "restore" ? may("read") : may("read", "operate");
  useKeys((event) => {
    if ((event.ctrlKey || event.metaKey) && event.key === "a" && rows && !(event.target as HTMLElement).matches("input:not([type=checkbox]), textarea") && !document.querySelector("dialog[open]")) { event.preventDefault(); chooseAll(); return; }
    const target = event.target as HTMLElement, inside = !!grid.current?.contains(target), last = (rows?.length || 1) - 1;
    if (event.ctrlKey && inside && (event.key === "Home" || event.key === "End")) { event.preventDefault(); if (event.key === "Home") move(0, 0); else move(last, 2 + cells.length); return; }
    if (!isOurs(event)) return;
    if ((event.key === "Enter" || event.key === " ") && (inside ? target.matches(event.key === "Enter" ? "a, button" : "input, button") : target.matches("a, button, input, summary"))) return;
    const moves: Record<string, () => void> = {
      j: () => move(focus + 1), ArrowDown: () => move(focus + 1), k: () => move(focus - 1), ArrowUp: () => move(focus - 1),
      ...(inside ? { ArrowLeft: () => move(focus, cell - 1), ArrowRight: () => move(focus, cell + 1), Home: () => move(focus, 0), End: () => move(focus, 2 + cells.length), PageDown: () => move(focus + 10), PageUp: () => move(focus - 10) } : { Home: () => move(0), End: () => move(last) }),
      x: () => row && pick(row.lookup_id), " ": () => row && pick(row.lookup_id),
      X: () => rows && !everything && setPicked((old) => new Set([...old, ...rows.slice(Math.min(anchor.current, focus), Math.max(anchor.current, focus) + 1).map((one) => one.lookup_id)])),
      n: forward, p: back, T: () => setDialog("time"), t: () => follow(!following), e: () => document.getElementById("export")?.click(),
      Enter: () => row && go(pageOf(name, queue, row.lookup_id)), r: () => act("return"), m: () => act("move"), c: () => act("copy"),
      Delete: () => act("delete"), f: () => document.getElementById("filter")?.focus(), Escape: chooseNone,
    };
    const wants = moves[event.key];
    const does = ({ r: "return", m: "move", c: "copy", Delete: "delete" } as Record<string, string>)[event.key];
    if (wants && (!does || (acts.includes(does) && mayDo(does)))) { event.preventDefault(); wants(); }
  });
  const messages = live.value[queue]?.[0] ?? info?.messages;
  const whole = matching ? "all that match" : messages === undefined ? "all" : messages === 1 ? "the one message" : messages ? `all ${count(messages)}` : "all";
  const what = picked.size ? `${count(picked.size)} chosen` : everything ? `${whole} chosen` : whole;
  const isPicked = (one: MessageView) => everything || picked.has(one.lookup_id);
  const own = info?.kind === "private" || info?.kind === "public";
  const shown = columns.filter((one) => isPath(one) || (one in KNOWN)), withReason = !shown.includes("reason") && rows?.some((one) => one.reason);
  const cells: string[] = withReason ? ["reason", ...shown] : shown;
  const exported = picked.size && picked.size <= 200 ? [...picked].map((id) => `lookup_id=${id}`).join("&") : `filter=${encodeURIComponent(matching)}`;
  const column = Math.min(cell, 2 + cells.length);
  const tab = (n: number, at: number) => n === Math.min(focus, (rows?.length || 1) - 1) && at === column ? 0 : -1;
  const order = newest ? "newest first" : "oldest first";
  return <div>
    <Head title={shortName(queue)} over={<><Link to={`/m/${encodeURIComponent(name)}/queues`}>{plain(name)}</Link> {info && ` / ${info.kind} queue${info.label && info.label !== info.name ? `, “${plain(info.label)}”` : ""}`}</>}>
      <span class="soft">{messages === undefined ? "" : `${many(messages, "message")}, ${size(info?.bytes || 0)}`}</span>
      <button aria-expanded={charts} onClick={() => setCharts(!charts)}>Chart, properties</button>
      {may("admin") && own && <button onClick={() => setDialog("set")}>Settings…</button>}
      {may("send") && info && info.kind !== "system" && info.kind !== "journal" && <button onClick={() => setDialog("import")}>Import…</button>}
      <a id="export" class="button" href={`/api/v1${base}/export?${exported}`}>{picked.size && picked.size <= 200 ? `Export ${count(picked.size)}` : "Export"}</a>
      {may("send") && info && info.kind !== "system" && info.kind !== "journal" && <button class="main" onClick={() => setDialog("send")}>Send…</button>}</Head>
    <QueueTabs queue={queue} current="" />
    {charts && <QueueCharts name={name} queue={info?.name || queue} info={info} />}
    <form class="filter" role="search" onSubmit={(e) => { e.preventDefault(); go(address({ f: text, at: null })); setTurn(turn + 1); }}>
      <input id="filter" class="wide mono" type="search" aria-label="Filter messages" placeholder='label:order* body:"ACME" size:>10k sent:>-2h -is:transactional' value={text} onInput={(e) => setText(e.currentTarget.value)} />
      {costOf(text) && <span class="soft">{costOf(text)}</span>}
      <button class="main">Search</button>{searching && <button type="button" onClick={stop}>Stop</button>}
      <label><input type="checkbox" checked={newest} onChange={(e) => go(address({ newest: e.currentTarget.checked ? "true" : null, at: null }))} />newest first</label>
      <label><input type="checkbox" checked={following} onChange={(e) => follow(e.currentTarget.checked)} />follow</label>
      <button type="button" onClick={() => setDialog("time")}>Go to time…</button><button type="button" onClick={() => setDialog("columns")}>Columns…</button>
      <button type="button" onClick={() => setTurn(turn + 1)}>Refresh</button></form>
    <div class="filter">
      {acts.some(mayDo) && <span class={"acts" + (picked.size || everything ? " chosen" : "")} role="group" aria-label={`Acts on ${what}`}><strong>{what}:</strong>
        {acts.filter(mayDo).map((one) => <button onClick={() => act(one)} disabled={!rows?.length}>{title(one)}…</button>)}
        {picked.size === 2 && <button onClick={() => go(`${pageOf(name, queue, "compare")}?ids=${[...picked].join(",")}`)}>Compare</button>}
        {(everything || !!picked.size) && <button class="plain" onClick={chooseNone}>choose none</button>}</span>}
      {since && <span class="tag">{newest ? "until" : "since"} {since} <button class="plain" aria-label="from the beginning" onClick={() => go(address({ time: null, at: null }))}>✕</button></span>}
      {fresh > 0 && !following && <button class="plain" onClick={() => setTurn(turn + 1)}>{count(fresh)} new: show</button>}
      <span class="end"><span class="soft" role="status">{rows ? `${count(rows.length)} shown${filter ? `, ${count(looked)} looked at` : ""}${searching ? " …" : ""}` : "…"}</span> <Views at={place.value} /></span></div>
    {wrong && <p class="bad" role="alert">✕ {plain(wrong)}</p>}
    {rows && !rows.length && !searching && !wrong && <Empty>{filter ? "No message matches." : since || at ? "No message is there." : "The queue is empty."}{!filter && !since && !at && may("send") && <> Send one here, or: <code>openmsmq message send {shortName(queue)} --body hello</code></>}</Empty>}
    {!!rows?.length && <div class="split"><div><div class="scroll">
      <table ref={grid} role="grid" aria-label="Messages" aria-multiselectable="true" onFocusIn={(e) => focused(e.target!)}><thead><tr><th><input type="checkbox" tabIndex={-1} aria-label="choose all that match" title="choose all that match (Ctrl+A)" checked={everything} onChange={(e) => { if (e.currentTarget.checked) chooseAll(); else chooseNone(); }} /></th><th>Arrived</th><th>Label</th>{cells.map((one) => <th class={NUMBERS.includes(one) ? "num" : ""} title={one}>{plain(heading(one))}{isPath(one) && <button class="plain" tabIndex={-1} aria-label={`remove column ${plain(heading(one))}`} onClick={() => show(columns.filter((other) => other !== one))}> ✕</button>}</th>)}</tr></thead>
        <tbody>{rows.map((one, n) => <tr class={n === focus ? "current" : ""} aria-selected={isPicked(one)} onClick={() => setFocus(n)} onDblClick={() => go(pageOf(name, queue, one.lookup_id))}>
          <td><input type="checkbox" tabIndex={tab(n, 0)} aria-label={`choose ${plain(one.label) || one.id}`} checked={isPicked(one)} onChange={() => { setFocus(n); pick(one.lookup_id); }} /></td>
          <td class="mono" tabIndex={tab(n, 1)} title={exact(one.arrived)}>{time(one.arrived)}</td><td class="text name"><Link tab={tab(n, 2)} to={pageOf(name, queue, one.lookup_id)}>{plain(one.label) || "(no label)"}</Link></td>
          {cells.map((column, at) => <td tabIndex={tab(n, 3 + at)} class={NUMBERS.includes(column) ? "num" : `text${column === "body" ? " soft mono" : ""}`}>{isPath(column) ? plain(one.columns[paths.indexOf(column)] || "") : KNOWN[column]!(one)}</td>)}</tr>)}</tbody></table></div>
      <nav class="pages" aria-label="Pages"><button onClick={back} disabled={at === null}>‹ Previous</button><button onClick={forward} disabled={next === null || searching}>Next ›</button>
        {at && <Link to={address({ at: null })}>from the beginning</Link>}<span class="soft">{order}; <kbd>n</kbd> <kbd>p</kbd> turn pages, <kbd>?</kbd> shows all keys</span></nav>
      <Position base={base} at={(newest ? rows[0] : rows[0])?.arrived} total={messages ?? 0} onGo={(when) => go(address({ time: when, at: null }))} /></div>
      <aside class="pane" aria-label="Preview">{open ? <><h2>{plain(open.message.label) || "(no label)"}</h2><p class="soft">{bodyKind(open.body.format, open.body.text)}, {size(open.body.size)}, from {plain(managerOf(open.message.source))}, sent <When at={open.message.sent} /></p>
        <Body details={open} base={`${base}/messages/${open.message.lookup_id}`} onColumn={addColumn} onFilter={narrow} /><p><Link to={pageOf(name, queue, open.message.lookup_id)}>all properties and its life ›</Link></p></> : <p class="soft">{gone ? <>It is gone: someone has taken it since the list was read. <button class="plain" onClick={() => setTurn(turn + 1)}>Refresh</button></> : "Choose a message."}</p>}</aside></div>}
    {wanted && <PlanDialog wanted={wanted} onClose={(changed) => { setWanted(undefined); if (changed) { chooseNone(); setTurn(turn + 1); } }} />}
    {dialog === "set" && <QueueForm name={queue} onClose={() => setDialog("")} />}
    {dialog === "send" && <Send manager={name} queue={queue} onClose={(sent) => { setDialog(""); if (sent) setTurn(turn + 1); }} />}
    {dialog === "import" && <Import base={base} queue={queue} onClose={(sent) => { setDialog(""); if (sent) setTurn(turn + 1); }} />}
    {dialog === "columns" && <Columns columns={shown} onClose={() => setDialog("")} onShow={(next) => { setDialog(""); show(next); }} />}
    {dialog === "time" && <GoToTime newest={newest} onClose={() => setDialog("")} onGo={(when) => { setDialog(""); go(address({ time: when, at: null })); }} />}
  </div>;
}

/** What is set for a queue, and what it is, for all who may see it. */
const factsOf = (one: QueueView): [string, string][] => [["format name", one.format_name], ["id", one.id], ["kind", `${one.kind}${one.transactional ? ", transactional" : ""}`], ["quota", one.quota === null ? "no limit" : `${count(one.quota)} KiB`], ["journal", one.journal ? `kept, ${many(one.journal_messages, "message")}` : "not kept"], ["poison", one.abort_limit ? `after ${many(one.abort_limit, "abort")}, to ${one.poison === "subqueue" ? "its subqueue" : "the dead letters"}` : "never"],
  ["retry", one.retry_delay ? `${age(one.retry_delay)} after an abort` : "at once after an abort"], ["signatures", one.authenticate ? "needed" : "not needed"], ["encryption", ["not accepted", "as the sender likes", "needed"][one.privacy] || ""], ["permissions", one.restricted ? "restricted" : "open"], ["readers", one.readers === null ? "not known here" : many(one.readers, "read") + " waiting"], ["held", one.held === null ? "not known here" : many(one.held, "message")], ["created", exact(one.created)], ["changed", exact(one.modified)]];

function QueueCharts(props: { name: string; queue: string; info?: QueueView }) {
  const [span, setSpan] = useState("15m");
  const find = new URLSearchParams({ queue: props.queue, span });
  const [series] = useData(() => api<Record<string, number[]>>(`${managerPath(props.name)}/series?${find}`), [props.name, props.queue, span], span === "15m" ? 2 : 30);
  const times = series?.time || [];
  return <section><p><Spans span={span} onChange={setSpan} /></p><div class="tiles">{series && [["messages", "messages", ""], ["in", "arrived", "/s"], ["out", "received", "/s"]].map(([word, key, unit]) =>
    <Chart key={props.queue + key + span} title={word!} unit={unit} times={times} values={series[key!] || times.map(() => null)} />)}</div>{props.info && <><h2>About the queue</h2><Facts rows={factsOf(props.info)} /></>}</section>;
}

/** A bar from the oldest to the newest message: where the page is, and how to go elsewhere. */
function Position(props: { base: string; at?: string; total: number; onGo: (time: string) => void }) {
  const [ends] = useData(async () => (await Promise.all(["", "&newest=true"].map((way) => api<MessagePage>(`${props.base}/messages?limit=1${way}`)))).map((page) => Date.parse(page.messages[0]?.arrived || "")), [props.base, Math.floor(props.total / 1000)]);
  const [moved, setMoved] = useState<number>();
  const [oldest, last] = ends || [];
  if (oldest === undefined || last === undefined || !(last > oldest) || props.total <= PAGE) return null;
  const now = moved ?? Math.min(Math.max(Date.parse(props.at || ""), oldest), last);
  const words = (at: number) => time(new Date(at).toISOString());
  return <label class="position"><span class="soft">{words(oldest)}</span><input type="range" aria-label="Position in time" aria-valuetext={words(now)} min={oldest} max={last} step={1000} value={now} onInput={(e) => setMoved(Number(e.currentTarget.value))} onChange={(e) => { setMoved(undefined); props.onGo(new Date(Number(e.currentTarget.value)).toISOString().slice(0, 19) + "Z"); }} /><span class="soft">{moved ? words(moved) : words(last)}</span></label>;
}

function Columns(props: { columns: string[]; onClose: () => void; onShow: (columns: string[]) => void }) {
  const [chosen, setChosen] = useState(props.columns.filter((one) => !isPath(one)));
  const [paths, setPaths] = useState(props.columns.filter(isPath).join("\n"));
  const flip = (one: string, on: boolean) => setChosen(Object.keys(KNOWN).filter((other) => (other === one ? on : chosen.includes(other))));
  return <Dialog title="Columns" onClose={props.onClose}><form onSubmit={(e) => { e.preventDefault(); props.onShow([...chosen, ...paths.split("\n").map((line) => line.trim()).filter(Boolean)]); }}>
    <fieldset><legend>Properties</legend><div class="keys">{Object.keys(KNOWN).map((one, n) => <label class="check"><input {...(n ? {} : first)} type="checkbox" checked={chosen.includes(one)} onChange={(e) => flip(one, e.currentTarget.checked)} />{one}</label>)}</div></fieldset>
    <label>From bodies, one in each line <textarea rows={4} class="mono" spellcheck={false} placeholder={"json:$.customer.name\nxpath:/order/@no\nheader.NServiceBus.FailedQ"} value={paths} onInput={(e) => setPaths(e.currentTarget.value)} /></label>
    <p class="soft">In the tree of a body, “show as column” does the same. Columns are part of the address and of saved views.</p>
    <div class="acts"><button type="button" onClick={props.onClose}>Cancel</button><button class="main">Show</button></div></form></Dialog>;
}

function GoToTime(props: { newest: boolean; onClose: () => void; onGo: (time: string) => void }) {
  const [when, setWhen] = useState("-1h");
  const pick = (text: string) => { const at = new Date(text); if (!isNaN(at.valueOf())) setWhen(at.toISOString().slice(0, 19) + "Z"); };
  return <Dialog title="Go to a time" onClose={props.onClose}><form onSubmit={(e) => { e.preventDefault(); props.onGo(when.trim()); }}>
    <p>{props.newest ? "Shows what had arrived until then, the newest first." : "Shows what arrived since then, the oldest first."}</p>
    <label>Time <input {...first} required value={when} onInput={(e) => setWhen(e.currentTarget.value)} placeholder="-2h, or 2026-07-01T10:00" /></label>
    <label>or pick one, in your zone <input type="datetime-local" step="1" onInput={(e) => pick(e.currentTarget.value)} /></label>
    <div class="acts"><button type="button" onClick={props.onClose}>Cancel</button><button class="main">Go</button></div></form></Dialog>;
}

export interface Old { label: string; text: string; priority: number; queue: string; lookup_id: string }

/** A new message, or one like an old one that stays where it is. */
export function Send(props: { manager: string; queue: string; like?: Old; onClose: (sent: boolean) => void }) {
  const { like } = props;
  const [queue, setQueue] = useState(props.queue);
  const [label, setLabel] = useState(like?.label || "");
  const [text, setText] = useState(like?.text || "");
  const [priority, setPriority] = useState(String(like?.priority ?? 3));
  const [key] = useState(() => crypto.randomUUID?.() || String(Math.random()));
  const request = { method: "POST", path: `${queuePath(props.manager, queue)}/messages`, body: { label, text, priority: Number(priority), ...(like ? { like: { queue: like.queue, lookup_id: like.lookup_id } } : {}) }, headers: { "Idempotency-Key": key } };
  const send = () => api<{ id: string }>(request.path, "POST", request.body, request.headers)
    .then((sent) => { say(`sent ${sent.id}`); props.onClose(true); }, failed);
  const word = (value: string) => `'${value.replaceAll("'", `'\\''`)}'`;
  return <Dialog title={like ? "Edit and send" : `Send a message to ${plain(shortName(props.queue))}`} onClose={() => props.onClose(false)}><form onSubmit={(e) => { e.preventDefault(); send(); }}>
    {like && <><p class="soft">All else is as in the old message, which stays where it is: headers, type of the body, correlation. The new one never expires.</p><label>To queue <input required value={queue} onInput={(e) => setQueue(e.currentTarget.value)} /></label></>}
    <label>Label <input {...first} value={label} maxLength={249} onInput={(e) => setLabel(e.currentTarget.value)} /></label>
    <label>Body <textarea rows={8} class="mono" value={text} onInput={(e) => setText(e.currentTarget.value)} /></label>
    <label>Priority <select value={priority} onChange={(e) => setPriority(e.currentTarget.value)}>{[7, 6, 5, 4, 3, 2, 1, 0].map((n) => <option value={n}>{n}{n === 7 ? " (read first)" : n === 3 ? " (usual)" : ""}</option>)}</select></label>
    <Command request={request}>{`openmsmq message send ${word(shortName(queue))}${like ? ` --like ${word(like.queue)} ${like.lookup_id}` : ""} --label ${word(label)} --body ${word(text)}${priority === String(like?.priority ?? 3) ? "" : ` --priority ${priority}`}`}</Command>
    <div class="acts"><button type="button" onClick={() => props.onClose(false)}>Cancel</button><button class="main">Send</button></div></form></Dialog>;
}

function Import(props: { base: string; queue: string; onClose: (sent: boolean) => void }) {
  const [file, setFile] = useState<File>();
  const send = async () => {
    try {
      const answer = await fetch(`/api/v1${props.base}/import`, { method: "POST", headers: { "X-OpenMSMQ": "1" }, credentials: "same-origin", body: await file!.text() });
      const found = await answer.json();
      if (!answer.ok) throw new Error(found.detail || found.title);
      say(`sent ${many(found.sent, "message")}`); props.onClose(true);
    } catch (error) { failed(error); }
  };
  return <Dialog title={`Import messages into ${plain(shortName(props.queue))}`} onClose={() => props.onClose(false)}><form onSubmit={(e) => { e.preventDefault(); send(); }}>
    <p>A file of an export: one message in each line, as JSON. All of them are sent, or none.</p>
    <label>File <input {...first} required type="file" accept=".jsonl,.ndjson,.json,application/x-ndjson" onChange={(e) => setFile(e.currentTarget.files?.[0])} /></label>
    <Command request={{ method: "POST", path: `${props.base}/import`, file: file?.name || "messages.jsonl" }}>{`openmsmq message import ${shortName(props.queue)} ${file?.name || "messages.jsonl"}`}</Command>
    <div class="acts"><button type="button" onClick={() => props.onClose(false)}>Cancel</button><button class="main" disabled={!file}>Import</button></div></form></Dialog>;
}
