// All queues of a manager: how much is in them, how it changes, and what can be done with them.
import { useEffect, useState } from "preact/hooks";
import { api, managerPath, pageOf, queuePath, type QueueView } from "./api";
import { NewQueue, QueueForm } from "./queue";
import { age, count, destination, many, plain, shortName, size, speed } from "./format";
import { failed, live, manager, may, query, say } from "./state";
import { Command, Dialog, Empty, first, Head, Link, PlanDialog, Quota, Spark, quoted, useData, Views, type Wanted } from "./ui";

/** A subqueue or a journal under its queue: `;poison`, `Journal$`. */
const childName = (name: string) => name.includes(";") ? `${shortName(name.split(";")[0]!)};${name.split(";")[1]}` : shortName(name);
const HIDDEN = ["unconfirmed", "reserved", "delayed"];
const PAGE = 200;

export function Queues() {
  const name = manager.value;
  const [pattern, setPattern] = useState(query.value.get("name") || "");
  const [everything, setEverything] = useState(query.value.get("everything") !== "false");
  const [nonempty, setNonempty] = useState(query.value.get("nonempty") === "true");
  const [sort, setSort] = useState(query.value.get("sort") || "name");
  useEffect(() => { setPattern(query.value.get("name") || ""); setEverything(query.value.get("everything") !== "false"); setNonempty(query.value.get("nonempty") === "true"); setSort(query.value.get("sort") || "name"); }, [query.value]);
  const [creating, setCreating] = useState(false);
  const [wanted, setWanted] = useState<Wanted>();
  const [setting, setSetting] = useState<string>();
  const [deleting, setDeleting] = useState<QueueView>();
  const [start, setStart] = useState(0);
  useEffect(() => setStart(0), [name, pattern, everything, nonempty, sort]);
  const find = new URLSearchParams({ name: pattern, everything: String(everything), nonempty: String(nonempty), sort, limit: String(PAGE), cursor: String(start), trend: "true" });
  const [page, again] = useData(() => api<{ queues: QueueView[]; total: number; next: string | null }>(`${managerPath(name)}/queues?${find}`), [name, pattern, everything, nonempty, sort, start], 5);
  const by = (key: string, title: string, cls = "num") => <th class={cls} aria-sort={sort.endsWith(key) ? (sort.startsWith("-") ? "descending" : "ascending") : undefined}>
    <button onClick={() => setSort(sort === `-${key}` ? key : `-${key}`)}>{title}{sort === `-${key}` ? " ▾" : sort === key ? " ▴" : ""}</button></th>;
  const tallied = page?.queues.some((one) => one.readers !== null), limited = page?.queues.some((one) => one.quota !== null);
  return <>
    <Head title={`Queues of ${name}`}>{may("admin") && <button class="main" onClick={() => setCreating(true)}>New queue</button>}</Head>
    <div class="filter" role="search"><input type="search" aria-label="Filter by name" placeholder="name, or ord*" value={pattern} onInput={(e) => setPattern(e.currentTarget.value)} />
      <label><input type="checkbox" checked={nonempty} onChange={(e) => setNonempty(e.currentTarget.checked)} />not empty</label>
      <label><input type="checkbox" checked={everything} onChange={(e) => setEverything(e.currentTarget.checked)} />system, journals, subqueues</label>
      <Views at={`/m/${encodeURIComponent(name)}/queues?${new URLSearchParams({ name: pattern, everything: String(everything), nonempty: String(nonempty), sort })}`} />
      <span class="soft">{page ? many(page.total, "queue") : "…"}</span></div>
    {page && !page.queues.length && <Empty>{pattern || nonempty ? "No queue is like this." : "There is no queue yet."}{may("admin") && <> <button class="plain" onClick={() => setCreating(true)}>Create one</button></>}</Empty>}
    {!!page?.queues.length && <div class="scroll" tabIndex={0} role="region" aria-label="Queues"><table class="queues"><thead><tr>{by("name", "Name", "")}{by("messages", "Messages")}<th class="num">In</th><th class="num">Out</th><th>Last hour</th>{by("bytes", "Size")}{by("oldest_age", "Oldest")}{limited && <th>Quota</th>}{tallied && <><th class="num" title="reads that wait for a message">Readers</th><th class="num" title="taken by readers and transactions, not yet removed or given back">Held</th></>}<th><span class="soft">Acts</span></th></tr></thead>
      <tbody>{page.queues.filter((one) => !HIDDEN.includes(one.kind) || one.messages).map((one) => { const now = live.value[one.name]; const messages = now ? now[0] : one.messages; const old = now ? now[2] : one.oldest_age;
        const own = one.kind === "private" || one.kind === "public"; const child = one.kind === "journal" || one.kind === "subqueue";
        return <tr class={child ? "child" : ""}><td class="name" title={plain(one.label ? `${one.name}: ${one.label}` : one.name)}><Link to={pageOf(name, one.name)}>{plain(child ? childName(one.name) : one.kind === "outgoing" ? destination(one.name) : shortName(one.name))}</Link><span class="tags">{!child && one.kind !== "private" && <span class="tag">{one.kind}</span>}{one.transactional && !child && <span class="tag" title="transactional: exactly once and in order">tx</span>}{one.journal && !child && <span class="tag">journal</span>}{one.restricted && <span class="tag">restricted</span>}{!!one.delayed && <span class="tag">{count(one.delayed)} delayed</span>}{own && !!messages && (now ? now[3] : one.state) !== "active" ? <span class="tag warn" title="messages wait, and no program has the queue open">not open</span> : null}</span>{one.label && !child && one.label !== one.name && <div class="soft small">{plain(one.label)}</div>}</td>
          <td class={"num" + (one.name.includes("DeadLetter") && messages ? " bad" : "")}><Link to={pageOf(name, one.name)}>{count(messages)}</Link></td>
          <td class="num">{speed(now ? now[5] : one.arriving)}</td><td class="num">{speed(now ? now[6] : one.leaving)}</td><td><Spark values={one.trend} title="messages" /></td><td class="num">{size(now ? now[1] : one.bytes)}</td>
          <td class={"num" + (old !== null && old >= 3600 && own ? " warn" : "")}>{age(old)}</td>
          {limited && <td>{own || one.quota !== null ? <Quota bytes={now ? now[1] : one.bytes} quota={one.quota} /> : null}</td>}
          {tallied && <><td class="num">{one.readers ? count(one.readers) : <span class="soft">0</span>}</td><td class="num">{one.held ? count(one.held) : <span class="soft">0</span>}</td></>}
          <td class="acts">{may("admin") && own && <button class="plain" aria-label={`set ${plain(one.name)}`} onClick={() => setSetting(one.name)}>set…</button>}{may("read") && one.kind !== "outgoing" && !!messages && <button class="plain" aria-label={`purge ${plain(one.name)}`} onClick={() => setWanted({ manager: name, queue: one.name, act: "purge" })}>purge…</button>}
            {may("admin") && own && <button class="plain" aria-label={`delete ${plain(one.name)}`} onClick={() => api<QueueView>(queuePath(name, one.name)).then(setDeleting, failed)}>delete…</button>}</td></tr>; })}</tbody></table></div>}
    {page && (start > 0 || page.next) && <nav class="pages" aria-label="Pages"><button disabled={!start} onClick={() => setStart(Math.max(0, start - PAGE))}>‹ Previous</button><button disabled={!page.next} onClick={() => setStart(start + PAGE)}>Next ›</button><span class="soft">{count(start + 1)} to {count(start + page.queues.length)} of {count(page.total)}</span></nav>}
    {setting && <QueueForm name={setting} onClose={(changed) => { setSetting(undefined); if (changed) again(); }} />}
    {creating && <NewQueue onClose={(made) => { setCreating(false); if (made) again(); }} />}
    {wanted && <PlanDialog wanted={wanted} onClose={(changed) => { setWanted(undefined); if (changed) again(); }} />}
    {deleting && <Dialog title={`Delete ${shortName(deleting.name)}?`} onClose={() => setDeleting(undefined)}>
      <p>The queue <code>{plain(deleting.name)}</code> with its <strong>{many(deleting.messages, "message")}</strong>, its journal and subqueues is gone for good. <a href={`/api/v1${queuePath(name, deleting.name)}/export`}>Export first</a></p>
      <Command request={{ method: "DELETE", path: `${queuePath(name, deleting.name)}?messages=${deleting.messages}` }}>{`openmsmq queue delete ${quoted(shortName(deleting.name))}`}</Command>
      <div class="acts"><button {...first} onClick={() => setDeleting(undefined)}>Cancel</button><button class="danger" onClick={() =>
        api(`${queuePath(name, deleting.name)}?messages=${deleting.messages}`, "DELETE").then(() => { say(`deleted ${deleting.name}`); setDeleting(undefined); again(); }, failed)}>Delete the queue and {many(deleting.messages, "message")}</button></div></Dialog>}
  </>;
}
