// Messages on their way to other managers, and the sessions with them.
import { api, managerPath, type Outgoing, type Row } from "./api";
import { Dependents } from "./dependents";
import { age, count, plain } from "./format";
import { Sessions } from "./service";
import { failed, manager, may, say } from "./state";
import { Empty, Head, Rows, useData } from "./ui";

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
    <Dependents name={name} />
    {!!peers?.length && <><h2>Other managers</h2><Rows rows={peers} /></>}
    {!!groups?.length && <><h2>Multicast</h2>{groups.some((one) => one.lost) && <p class="bad">✕ Packets were lost for good: messages are missing.</p>}<Rows rows={groups} /></>}</>;
}
