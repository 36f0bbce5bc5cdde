// The dead-letter desk: what failed, grouped by why, and what to do with each group.
import { useState } from "preact/hooks";
import { api, managerPath, pageOf, type LetterGroup } from "./api";
import { count, plain, shortName, time } from "./format";
import { may, session } from "./state";
import { Empty, Head, Link, PlanDialog, useData, type Wanted } from "./ui";

interface Found { name: string; groups: LetterGroup[]; total: number; complete: boolean; error?: string }

export function DeadLetters() {
  const names = session.value!.managers;
  const [wanted, setWanted] = useState<Wanted>();
  const [found, again] = useData(() => Promise.all(names.map((name) => api<Omit<Found, "name">>(managerPath(name) + "/deadletters")
    .then((one): Found => ({ name, ...one }), (error: Error): Found => ({ name, groups: [], total: 0, complete: true, error: error.message })))), [], 10);
  const rows = (found || []).flatMap((one) => one.groups.map((group) => ({ name: one.name, group })));
  const reasons = [...new Set(rows.map((row) => row.group.reason))];
  const total = (found || []).reduce((sum, one) => sum + one.total, 0);
  return <>
    <Head title="Dead letters"><span class="soft">{found ? `${count(total)} in ${rows.length} groups` : "…"}</span><button onClick={again}>Refresh</button></Head>
    {found?.filter((one) => one.error).map((one) => <p class="bad">{one.name}: {one.error}</p>)}
    {found?.filter((one) => !one.complete).map((one) => <p class="warn">{one.name} has more dead letters than were looked at; counts are of those.</p>)}
    {found && !rows.length && <Empty>No dead letters and no poison messages. ✓</Empty>}
    {reasons.map((reason) => { const all = rows.filter((row) => row.group.reason === reason); return <section>
      <h2><span class="bad">✕</span> {reason} <span class="soft">({count(all.reduce((sum, row) => sum + row.group.count, 0))})</span></h2>
      <div class="scroll"><table><thead><tr>{names.length > 1 && <th>Manager</th>}<th>Kept in</th><th>Was sent to</th><th>Labels</th><th class="num">Messages</th><th>First</th><th>Last</th><th><span class="soft">Acts</span></th></tr></thead>
        <tbody>{all.map(({ name, group }) => { const filter = group.filter; const act = (what: string) => setWanted({ manager: name, queue: group.queue, act: what, filter }); return <tr>
          {names.length > 1 && <td>{name}</td>}<td class="name">{plain(shortName(group.queue))}</td><td class="wrap mono">{plain(group.destination)}</td><td class="wrap">{plain(group.labels) || <span class="soft">(no label)</span>}</td>
          <td class="num"><Link to={`${pageOf(name, group.queue)}?f=${encodeURIComponent(filter)}`}>{count(group.count)}</Link></td><td class="mono">{time(group.first)}</td><td class="mono">{time(group.last)}</td>
          <td class="acts"><Link to={pageOf(name, group.queue, group.sample)}>look at one</Link>{may("read") && <><button class="main" onClick={() => act("return")}>Return…</button><button onClick={() => act("move")}>Move…</button><button onClick={() => act("delete")}>Delete…</button></>}</td></tr>; })}</tbody></table></div></section>; })}
    {wanted && <PlanDialog wanted={wanted} onClose={(changed) => { setWanted(undefined); if (changed) again(); }} />}
  </>;
}
