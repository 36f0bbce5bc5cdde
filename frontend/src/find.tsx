// One box for ids, labels, texts and queues, on all managers.
import { useEffect, useRef, useState } from "preact/hooks";
import { api, managerPath, pageOf } from "./api";
import { count, many, plain, shortName, time } from "./format";
import { Life } from "./message";
import { failed, go, query, session } from "./state";
import { Empty, Head, Link, useData } from "./ui";

interface Hit { manager: string; queue: string; lookup_id: string; id: string; label: string; sent: string; arrived: string }
interface Search { id: string; state: string; looked_at: number; total: number; found: number; hits: Hit[]; asked: Record<string, string> }
const FIELD = /^-?\(?[a-z]+[.\w-]*:\S/i;

/** A search that runs on the managers, and what it has found so far. */
function useSearch(text: string): [Search | undefined, Hit[], () => void, () => void] {
  const [search, setSearch] = useState<Search>();
  const [hits, setHits] = useState<Hit[]>([]);
  const more = useRef(() => {});
  useEffect(() => {
    setSearch(undefined); setHits([]);
    if (!text) return;
    let over = false, timer = 0, id = "", all: Hit[] = [];
    const filter = FIELD.test(text) ? text : `"${text.replaceAll('"', "")}"`;
    const take = (found: Search) => {
      id = found.id;
      if (over) { end(); return; }
      all = [...all, ...found.hits]; setHits(all); setSearch(found);
      if (found.state === "running") timer = window.setTimeout(() => api<Search>(`/searches/${id}?after=${all.length}`).then(take, wrong), 400);
    };
    const wrong = (error: unknown) => { if (!over) failed(error); };
    const end = () => { if (id) api(`/searches/${id}`, "DELETE").catch(() => undefined); };
    more.current = () => { api<Search>(`/searches/${id}/more`, "POST").then(take, wrong); };
    api<Search>("/searches", "POST", { filter, limit: 200 }).then(take, wrong);
    return () => { over = true; clearTimeout(timer); end(); };
  }, [text]);
  return [search, hits, () => search && api(`/searches/${search.id}`, "DELETE").then(() => setSearch({ ...search, state: "stopped" }), failed), () => more.current()];
}

export function Find() {
  const q = query.value.get("q") || "";
  const isId = /^[0-9a-f-]{36}\\\d+$/i.test(q);
  const names = session.value!.managers;
  const [queues] = useData(async () => isId || !q || FIELD.test(q) ? [] : (await Promise.all(names.map((name) => api<{ queues: { name: string; messages: number }[] }>(`${managerPath(name)}/queues?everything=true&limit=50&name=${encodeURIComponent(q)}`).then((page) => page.queues.map((one) => ({ name, one })), () => [])))).flat(), [q]);
  const [search, hits, stop, goOn] = useSearch(isId ? "" : q);
  const running = search?.state === "running";
  return <><Head title={q ? `Find ${q}` : "Find"} />
    <form class="filter" role="search" onSubmit={(e) => { e.preventDefault(); const to = new FormData(e.currentTarget).get("q"); go(`/find?q=${encodeURIComponent(String(to))}`); }}><input name="q" class="wide" type="search" aria-label="Id of a message, label, text or queue" placeholder="id of a message, a text, or label:order* sent:>-2h" defaultValue={q} key={q} /><button class="main">Find</button></form>
    {!q && <Empty>Looks for messages by id, label or text in every queue, journal and dead-letter queue of every manager.</Empty>}
    {isId && <Life id={q} />}
    {!isId && q && <>{!!queues?.length && <><h2>Queues</h2><ul>{queues.map(({ name, one }) => <li><Link to={pageOf(name, one.name)}>{plain(one.name)}</Link> <span class="soft">{plain(name)}, {many(one.messages, "message")}</span></li>)}</ul></>}
      <h2>Messages</h2>
      <p class="soft" role="status">{search ? `${many(search.found, "message")} found, ${count(search.looked_at)} of ${count(search.total)} looked at${running ? " …" : search.state === "full" ? "; there may be more" : search.state === "stopped" ? ", stopped" : ""}` : "…"} {running ? <button class="plain" onClick={stop}>Stop</button> : search && ["full", "stopped"].includes(search.state) && <button class="plain" onClick={goOn}>Go on</button>}</p>
      {search && Object.entries(search.asked).filter(([, how]) => how !== "ok").map(([name, how]) => <p class="bad">✕ {plain(name)}: {plain(how)}</p>)}
      {search && !running && !hits.length && <Empty>No message has this in its label or body.</Empty>}
      {!!hits.length && <div class="scroll" tabIndex={0} role="region" aria-label="Messages"><table><thead><tr><th>Label</th><th>Queue</th>{names.length > 1 && <th>Manager</th>}<th>Sent</th><th>Id</th></tr></thead><tbody>{hits.map((hit) => <tr><td class="name"><Link to={pageOf(hit.manager, hit.queue, hit.lookup_id)}>{plain(hit.label) || "(no label)"}</Link></td><td>{plain(shortName(hit.queue))}</td>{names.length > 1 && <td>{plain(hit.manager)}</td>}<td class="mono">{time(hit.sent)}</td><td class="mono"><Link to={`/find?q=${encodeURIComponent(hit.id)}`}>{hit.id}</Link></td></tr>)}</tbody></table></div>}</>}</>;
}
