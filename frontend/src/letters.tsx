// The dead-letter desk: what failed on all managers, grouped by why, and what to do with each group.
import { useState } from "preact/hooks";
import { api, managerPath, pageOf, queuePath, type LetterGroup } from "./api";
import { count, destination, many, plain, shortName, title } from "./format";
import { failed, manager, may, session } from "./state";
import { Act, Command, Dialog, Empty, first, Head, Link, PlanDialog, useData, When, type Wanted } from "./ui";

interface Letters { manager: string; letters: { groups: LetterGroup[]; total: number; complete: boolean } | null; error: string }
interface Item { name: string; group: LetterGroup }
const BY: Record<string, (item: Item) => string> = {
  reason: (item) => title(item.group.reason), queue: (item) => destination(item.group.destination) || item.group.queue, manager: (item) => item.name, label: (item) => item.group.labels || "(no label)",
};

function Note(props: { item: Item; onClose: (changed: boolean) => void }) {
  const { name, group } = props.item;
  const [text, setText] = useState(group.note?.text || "");
  const request = { method: "POST", path: `${managerPath(name)}/deadletters/note`, body: { queue: group.queue, reason: group.reason, destination: group.destination, labels: group.labels, text } };
  return <Dialog title="Note on a group" onClose={() => props.onClose(false)}><form onSubmit={(e) => { e.preventDefault(); api(request.path, "POST", request.body).then(() => props.onClose(true), failed); }}>
    <p>{plain(title(group.reason))}: {many(group.count, "message")} in {plain(shortName(group.queue))}</p>
    <label>Note, for all who see the group; empty to remove it <input {...first} maxLength={500} value={text} onInput={(e) => setText(e.currentTarget.value)} /></label>
    <Command request={request} /><div class="acts"><button type="button" onClick={() => props.onClose(false)}>Cancel</button><button class="main">Save</button></div></form></Dialog>;
}

export function DeadLetters() {
  const names = session.value!.managers;
  const [by, setBy] = useState("reason");
  const [only, setOnly] = useState(names.includes(manager.value) && names.length > 1 ? "" : "");
  const [wanted, setWanted] = useState<Wanted>();
  const [noting, setNoting] = useState<Item>();
  const [found, again] = useData(() => api<Letters[]>("/deadletters"), [], 10);
  const asked = (found || []).filter((one) => !only || one.manager === only);
  const rows = asked.flatMap((one) => (one.letters?.groups || []).map((group): Item => ({ name: one.manager, group })));
  const parts = [...new Set(rows.map(BY[by]!))];
  const total = asked.reduce((sum, one) => sum + (one.letters?.total || 0), 0);
  return <>
    <Head title="Dead letters"><span class="soft" role="status">{found ? `${many(total, "message")} in ${many(rows.length, "group")}` : "…"}</span>
      {names.length > 1 && <select aria-label="Manager" value={only} onChange={(e) => setOnly(e.currentTarget.value)}><option value="">all managers</option>{names.map((one) => <option>{one}</option>)}</select>}
      <select aria-label="Group by" value={by} onChange={(e) => setBy(e.currentTarget.value)}>{Object.keys(BY).map((one) => <option value={one}>by {one}</option>)}</select><button onClick={again}>Refresh</button></Head>
    {asked.filter((one) => one.error).map((one) => <p class="bad">✕ {plain(one.manager)} cannot tell: {plain(one.error)}</p>)}
    {asked.filter((one) => one.letters && !one.letters.complete).map((one) => <p class="warn">! {plain(one.manager)} has more dead letters than were looked at; the counts below are of those.</p>)}
    {found && !rows.length && !asked.some((one) => one.error) && <Empty>✓ No dead letters, no poison messages, nothing refused.</Empty>}
    {parts.map((part) => { const all = rows.filter((row) => BY[by]!(row) === part); return <section>
      <h2><span class="bad">✕</span> {plain(part)} <span class="soft">({count(all.reduce((sum, row) => sum + row.group.count, 0))})</span></h2>
      <div class="scroll" tabIndex={0} role="region" aria-label={plain(part)}><table><thead><tr>{names.length > 1 && by !== "manager" && <th>Manager</th>}{by !== "reason" && <th>Reason</th>}<th>Kept in</th>{by !== "queue" && <th>Was for</th>}<th>Labels</th><th class="num">Messages</th><th>First</th><th>Last</th><th class="num">Last hour</th><th><span class="soft">Acts</span></th></tr></thead>
        <tbody>{all.map(({ name, group }) => { const filter = group.filter; const act = (what: string) => setWanted({ manager: name, queue: group.queue, act: what, filter }); return <tr>
          {names.length > 1 && by !== "manager" && <td class="name">{plain(name)}</td>}{by !== "reason" && <td class="text">{plain(title(group.reason))}</td>}<td class="name">{plain(shortName(group.queue))}</td>{by !== "queue" && <td class="text" title={plain(group.destination)}>{plain(destination(group.destination))}</td>}<td class="wrap">{plain(group.labels) || <span class="soft">(no label)</span>} {may("operate") && <button class="plain" aria-label={`note on ${plain(group.labels) || "messages without a label"}`} onClick={() => setNoting({ name, group })}>note…</button>}{group.note && <p class="note">{plain(group.note.text)} <span class="soft">{plain(group.note.who)}, <When at={group.note.time} /></span></p>}</td>
          <td class="num"><Link to={`${pageOf(name, group.queue)}?f=${encodeURIComponent(filter)}`}>{count(group.count)}</Link></td><td><When class="mono" at={group.first} /></td><td><When class="mono" at={group.last} /></td><td class={"num" + (group.recent ? " bad" : "")}>{group.recent ? `+${count(group.recent)}` : "0"}</td>
          <td class="acts"><Link to={pageOf(name, group.queue, group.sample)}>look at one</Link> <a href={`/api/v1${queuePath(name, group.queue)}/export?filter=${encodeURIComponent(filter)}`}>export</a>{may("operate", "read") && <><Act main onClick={() => act("return")}>Return…</Act><Act onClick={() => act("move")}>Move…</Act></>}{may("read") && <Act onClick={() => act("delete")}>Delete…</Act>}</td></tr>; })}</tbody></table></div></section>; })}
    {noting && <Note item={noting} onClose={(changed) => { setNoting(undefined); if (changed) again(); }} />}
    {wanted && <PlanDialog wanted={wanted} onClose={(changed) => { setWanted(undefined); if (changed) again(); }} />}
  </>;
}
