// One box for ids, labels, texts and queues, on all managers.
import { api, managerPath } from "./api";
import { count, plain } from "./format";
import { Life } from "./message";
import { go, query, session } from "./state";
import { Head, useData } from "./ui";

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
