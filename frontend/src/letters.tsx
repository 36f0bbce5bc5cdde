// The dead-letter desk: what failed on all managers, grouped by why, and what to do with each group.
import { useEffect, useState } from "preact/hooks";
import { api, managerPath, pageOf, queuePath, type LetterGroup, type ManagerView } from "./api";
import { count, destination, many, plain, shortName, title } from "./format";
import { failed, may, session, total } from "./state";
import { Act, Command, Dialog, Empty, first, Head, Link, PlanDialog, Spark, useData, quoted, When, type Wanted } from "./ui";

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
    <Command request={request}>{`openmsmq console note ${quoted(group.queue)} ${quoted(text)}${[["reason", group.reason], ["destination", group.destination], ["labels", group.labels]].map(([key, value]) => value ? ` --${key} ${quoted(value)}` : "").join("")} --data DIR`}</Command><div class="acts"><button type="button" onClick={() => props.onClose(false)}>Cancel</button><button class="main">Save</button></div></form></Dialog>;
}

const THEN: Record<string, string> = { labels: "then by label", sender: "then by sender", type: "then by type" };
const SINCE: Record<string, string> = { "": "of all time", "-1h": "of the last hour", "-1d": "of the last day", "-7d": "of the last week" };

export function DeadLetters() {
  const names = session.value!.managers;
  const [by, setBy] = useState("reason");
  const [then, setThen] = useState("labels");
  const [since, setSince] = useState("");
  const [only, setOnly] = useState("");
  const [wanted, setWanted] = useState<Wanted>();
  const [noting, setNoting] = useState<Item>();
  const [found, again] = useData(() => api<Letters[]>(`/deadletters?${new URLSearchParams({ then, since })}`), [then, since], 60);
  const known = total.value.dead_letters;
  useEffect(() => { const timer = setTimeout(again, 3000); return () => clearTimeout(timer); }, [known]);
  const [managers] = useData(() => api<ManagerView[]>("/managers"), []);
  const nameOf = (id: string) => managers?.find((one) => one.id.toLowerCase() === id.toLowerCase())?.name || id;
  const asked = (found || []).filter((one) => !only || one.manager === only);
  const rows = asked.flatMap((one) => (one.letters?.groups || []).map((group): Item => ({ name: one.manager, group })));
  const parts = [...new Set(rows.map(BY[by]!))];
  const sum = asked.reduce((sum, one) => sum + (one.letters?.total || 0), 0);
  const choice = (title: string, value: string, choices: Record<string, string>, set: (value: string) => void) => <select aria-label={title} value={value} onChange={(e) => set(e.currentTarget.value)}>{Object.entries(choices).map(([one, words]) => <option value={one}>{words}</option>)}</select>;
  return <>
    <Head title="Dead letters"><span class="soft" role="status">{found ? `${many(sum, "message")} in ${many(rows.length, "group")}` : "…"}</span>
      {names.length > 1 && choice("Manager", only, { "": "all managers", ...Object.fromEntries(names.map((one) => [one, one])) }, setOnly)}
      {choice("Group by", by, Object.fromEntries(Object.keys(BY).map((one) => [one, `by ${one}`])), setBy)}{choice("Then by", then, THEN, setThen)}{choice("Since", since, SINCE, setSince)}<button onClick={again}>Refresh</button></Head>
    {asked.filter((one) => one.error).map((one) => <p class="bad">✕ {plain(one.manager)} cannot tell: {plain(one.error)}</p>)}
    {asked.filter((one) => one.letters && !one.letters.complete).map((one) => <p class="warn">! {plain(one.manager)} has more dead letters than were looked at; the counts below are of those.</p>)}
    {found && !rows.length && !asked.some((one) => one.error) && <Empty>✓ No dead letters, no poison messages, nothing refused{since && ` in ${SINCE[since]!.replace("of ", "")}`}.</Empty>}
    {parts.map((part) => { const all = rows.filter((row) => BY[by]!(row) === part); return <section>
      <h2><span class="bad">✕</span> {plain(part)} <span class="soft">({count(all.reduce((sum, row) => sum + row.group.count, 0))})</span></h2>
      <div class="scroll" tabIndex={0} role="region" aria-label={plain(part)}><table class="desk cards"><thead><tr>{names.length > 1 && by !== "manager" && <th>Manager</th>}{by !== "reason" && <th>Reason</th>}<th>Was for, is kept in</th><th>{title(then)}</th><th class="num">Messages</th><th>First, last</th><th>Last 24 hours</th><th><span class="soft">Acts</span></th></tr></thead>
        <tbody>{all.map((item) => { const { name, group } = item; const filter = group.filter; const act = (what: string) => setWanted({ manager: name, queue: group.queue, act: what, filter }); return <tr>
          {names.length > 1 && by !== "manager" && <td data-title="Manager">{plain(name)}</td>}{by !== "reason" && <td class="wrap">{plain(title(group.reason))}</td>}
          <td class="wrap" data-title="Was for"><span title={plain(group.destination)}>{plain(destination(group.destination)) || <span class="soft">it does not say</span>}</span>{group.hint && <span class="warn"> – is {may("operate", "read") ? <button class="plain" onClick={() => setWanted({ manager: name, queue: group.queue, act: "move", filter, target: group.destination.replace(/[^\\]+$/, group.hint) })}>{plain(group.hint)}</button> : plain(group.hint)} meant?</span>}<br /><span class="soft">in {plain(shortName(group.queue))}</span></td>
          <td class="wrap" data-title={title(then)}>{then === "labels" ? plain(group.labels) || <span class="soft">(no label)</span> : then === "sender" ? plain(nameOf(group.sender)) : plain(group.type) || <span class="soft">(no type)</span>}{group.note && <p class="note">{plain(group.note.text)} <span class="soft">{plain(group.note.who)}, <When at={group.note.time} /></span></p>}</td>
          <td class="num" data-title="Messages"><Link to={`${pageOf(name, group.queue)}?f=${encodeURIComponent(filter)}`}>{count(group.count)}</Link></td><td class="mono" data-title="First, last"><When at={group.first} />{group.last !== group.first && <><br /><When at={group.last} /></>}</td><td data-title="Last 24 hours"><Spark values={group.trend} title="messages in an hour" />{group.recent ? <span class="bad">+{count(group.recent)} in the last hour</span> : <span class="soft">none in the last hour</span>}</td>
          <td class="acts">{may("operate", "read") && <><Act main onClick={() => act("return")}>Return…</Act><Act onClick={() => act("move")}>Move…</Act></>}{may("read") && <Act onClick={() => act("delete")}>Delete…</Act>}
            <div class="more"><Link to={pageOf(name, group.queue, group.sample)}>look at one</Link> <a href={`/api/v1${queuePath(name, group.queue)}/export?filter=${encodeURIComponent(filter)}`}>export</a> {may("operate") && then === "labels" && <button class="plain" aria-label={`note on ${plain(group.labels) || "messages without a label"}`} onClick={() => setNoting(item)}>note…</button>}</div></td></tr>; })}</tbody></table></div></section>; })}
    {noting && <Note item={noting} onClose={(changed) => { setNoting(undefined); if (changed) again(); }} />}
    {wanted && <PlanDialog wanted={wanted} onClose={(changed) => { setWanted(undefined); if (changed) again(); }} />}
  </>;
}
