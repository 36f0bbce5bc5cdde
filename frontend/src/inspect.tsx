// One queue, looked at closely: who may do what with it, and what happened in it.
import { useState } from "preact/hooks";
import { api, managerPath, pageOf, queuePath, type Audit } from "./api";
import { count, many, plain, shortName, title } from "./format";
import { failed, go, manager, may, query } from "./state";
import { Command, Empty, Facts, Head, Link, useData, When } from "./ui";

interface Right { right: string; allowed: boolean; entry: number | null; reason: string }
interface WhoMay { who: string; role: string; label: string; rights: Right[] }
interface Permissions { queue: string; owner: string; entries: { number: number; type: string; who: string; rights: string }[] | null; sddl: string; who: WhoMay[] }
interface Happened { time: string; event: string; count: number; text: string; by: string; message_id: string; lookup_id: string }
interface History { events: Happened[]; next: string | null }

const TABS: [string, string][] = [["", "Messages"], ["access", "Access"], ["history", "History"]];
const word = (text: string) => /^[\w.:-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;

/** The parts of the page of a queue. */
export function QueueTabs(props: { queue: string; current: string }) {
  return <nav class="pages tabs" aria-label="Parts of the queue">{TABS.map(([part, words]) => <Link class="button" to={pageOf(manager.value, props.queue, part)} current={part === props.current}>{words}</Link>)}</nav>;
}

const over = (queue: string) => <><Link to={`/m/${encodeURIComponent(manager.value)}/queues`}>{plain(manager.value)}</Link> / <Link to={pageOf(manager.value, queue)}>{plain(shortName(queue))}</Link></>;
const answer = (one: Right) => `${one.allowed ? "✓ yes" : "✕ no"}${one.entry === null ? "" : `, entry ${one.entry}`}`;

export function QueueAccess(props: { queue: string }) {
  const name = manager.value, queue = props.queue, base = `${queuePath(name, queue)}/permissions`;
  const [found] = useData(() => api<Permissions>(base), [base]);
  const [who, setWho] = useState("");
  const [right, setRight] = useState("receive");
  const [asked, setAsked] = useState<WhoMay>();
  const ask = () => api<Permissions>(`${base}?who=${encodeURIComponent(who.trim())}`).then((view) => setAsked(view.who[0]), failed);
  const verdict = asked?.rights.find((one) => one.right === right);
  const rights = found?.who[0]?.rights.map((one) => one.right) || [];
  return <><Head title={`Access to ${shortName(queue)}`} over={over(queue)} /><QueueTabs queue={queue} current="access" />
    {found && <><Facts rows={[["owner", plain(found.owner) || "none"], ["list", found.entries ? many(found.entries.length, "entry", "entries") : "none: the queue is open, and roles decide alone"]]} />
      <h2>List of permissions</h2>
      {found.entries ? <div class="scroll" tabIndex={0} role="region" aria-label="List of permissions"><table><thead><tr><th class="num">Entry</th><th>Type</th><th>Who</th><th>Rights</th></tr></thead>
        <tbody>{found.entries.map((one) => <tr><td class="num">{one.number}</td><td class={one.type === "deny" ? "bad" : ""}>{one.type}</td><td class="wrap mono">{plain(one.who)}</td><td class="wrap">{plain(one.rights)}</td></tr>)}</tbody></table></div> : <Empty>There is none. <code>openmsmq queue permissions set {word(shortName(queue))} --allow user:anna=receive</code> begins one.</Empty>}
      <h2>Who may what</h2><p class="soft">The first entry that allows or denies a right decides. Of tokens, both the role and the list must allow it.</p>
      <div class="scroll" tabIndex={0} role="region" aria-label="Who may what"><table><thead><tr><th>Who</th>{rights.map((one) => <th>{one.replace("-", " ")}</th>)}</tr></thead>
        <tbody>{found.who.map((one) => <tr><td class="wrap mono">{plain(one.who)}{(one.role || one.label) && <><br /><span class="soft">{plain([one.label, one.role].filter(Boolean).join(", "))}</span></>}</td>{one.rights.map((may) => <td class={may.allowed ? "good" : "bad"} title={plain(may.reason)}>{answer(may)}</td>)}</tr>)}</tbody></table></div>
      <h2>May someone?</h2><form class="filter" onSubmit={(e) => { e.preventDefault(); ask(); }}>
        <label>May <input required value={who} placeholder="user:anna, token:…, anonymous" onInput={(e) => { setWho(e.currentTarget.value); setAsked(undefined); }} /></label>
        <select aria-label="Right" value={right} onChange={(e) => setRight(e.currentTarget.value)}>{rights.map((one) => <option>{one}</option>)}</select><button class="main">Ask</button>
        <span role="status">{verdict && <><strong class={verdict.allowed ? "good" : "bad"}>{verdict.allowed ? "✓ yes" : "✕ no"}</strong>: {plain(verdict.reason)}</>}</span></form>
      <Command request={{ method: "GET", path: who ? `${base}?who=${encodeURIComponent(who)}` : base }}>{who ? `openmsmq queue permissions check ${word(shortName(queue))} --as ${word(who)} --may ${right}` : `openmsmq queue permissions show ${word(shortName(queue))}`}</Command></>}</>;
}

const EVENTS = ["", "received", "arrived", "moved", "expired", "purged", "aborted", "reserved", "redirected", "dead_lettered", "poisoned"];

export function QueueHistory(props: { queue: string }) {
  const name = manager.value, queue = props.queue, event = query.value.get("event") || "";
  const base = `${queuePath(name, queue)}/history`, find = event ? `?event=${encodeURIComponent(event)}` : "";
  const [pages, setPages] = useState(1);
  const [found, again] = useData(async () => {
    let all: Happened[] = [], next: string | null = "";
    for (let n = 0; n < pages && next !== null; n++) { const page: History = await api<History>(`${base}${find}${next ? `${find ? "&" : "?"}before=${next}` : ""}`); all = [...all, ...page.events]; next = page.next; }
    return { all, next };
  }, [base, find, pages], pages > 2 ? 0 : 10);
  const full = queue.includes("\\") || queue.includes("=") ? queue : `.\\private$\\${queue}`;
  const [acts] = useData(() => may("admin") ? api<Audit[]>(`${managerPath(name)}/audit?target=${encodeURIComponent(full)}&limit=50`).catch(() => []) : Promise.resolve([]), [name, full]);
  const show = (one: string) => { setPages(1); go(pageOf(name, queue, "history") + (one ? `?event=${one}` : ""), true); };
  return <><Head title={`History of ${shortName(queue)}`} over={over(queue)}><button onClick={again}>Refresh</button></Head><QueueTabs queue={queue} current="history" />
    <div class="filter"><label>Show <select value={event} onChange={(e) => show(e.currentTarget.value)}>{EVENTS.map((one) => <option value={one}>{one ? title(one.replaceAll("_", " ")) : "all that happened"}</option>)}</select></label>
      <span class="soft" role="status">{found ? `${many(found.all.length, "event")}, the newest first` : "…"}</span></div>
    {found && !found.all.length && <Empty>{event === "received" ? "No one has received a message from it, as far as is known." : "Nothing is known to have happened here."}</Empty>}
    {!!found?.all.length && <div class="scroll" tabIndex={0} role="region" aria-label="History of the queue"><table><thead><tr><th>Time</th><th class="num">Messages</th><th>What happened</th><th>Who did it</th><th>First message</th></tr></thead>
      <tbody>{found.all.map((one) => <tr><td><When class="mono" at={one.time} /></td><td class="num">{count(one.count)}</td><td class="wrap">{plain(one.text)}</td><td class="wrap">{plain(one.by) || <span class="soft">not known</span>}</td><td class="mono"><Link to={`/find?q=${encodeURIComponent(one.message_id)}`} title={one.message_id}>{`…${one.message_id.slice(-16)}`}</Link></td></tr>)}</tbody></table></div>}
    {found?.next !== null && found && <p><button onClick={() => setPages(pages + 1)}>Older…</button></p>}
    <Command request={{ method: "GET", path: `${base}${find}` }}>{`openmsmq queue history ${word(shortName(queue))}${event ? ` --event ${event}` : ""}`}</Command>
    {!!acts?.length && <><h2>What people did with the queue</h2><div class="scroll" tabIndex={0} role="region" aria-label="Audit log of the queue"><table><thead><tr><th>Time</th><th>Who</th><th>Act</th><th>Outcome</th><th>Details</th></tr></thead>
      <tbody>{acts.map((one) => <tr><td><When class="mono" at={one.time} /></td><td class="wrap">{plain(one.who)}</td><td>{plain(one.act)}</td><td class={one.allowed ? "" : "bad"}>{one.allowed ? "done" : "✕ denied"}</td><td class="wrap">{plain(one.reason)}</td></tr>)}</tbody></table></div></>}</>;
}
