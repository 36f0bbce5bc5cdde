// Messages on their way to other managers, and the sessions with them.
import { api, managerPath, type Outgoing, type Row } from "./api";
import { Dependents } from "./dependents";
import { age, count, destination, many, plain } from "./format";
import { Sessions } from "./service";
import { failed, manager, may, say } from "./state";
import { Empty, Head, Rows, useData, When } from "./ui";

export function OutgoingScreen() {
  const name = manager.value, base = `${managerPath(name)}/outgoing`;
  const [rows, again] = useData(() => api<Outgoing[]>(base), [name], 2);
  const [peers] = useData(() => may("admin") ? api<Row[]>(`${managerPath(name)}/peers`) : Promise.resolve([]), [name], 5);
  const [groups] = useData(() => may("admin") ? api<Row[]>(`${managerPath(name)}/multicast`) : Promise.resolve([]), [name], 5);
  const act = (queue: string, what: string) => api(`${base}/${encodeURIComponent(queue)}/${what}`, "POST").then(() => { say(`${what}: ${queue}`); again(); }, failed);
  return <><Head title={`Outgoing messages of ${name}`} />
    {rows && !rows.length && <Empty>No messages wait for other managers.</Empty>}
    {!!rows?.length && <div class="scroll" tabIndex={0} role="region" aria-label="Outgoing queues"><table class="outgoing cards"><thead><tr><th>Destination, next hop</th><th>State</th><th class="num">Waiting</th><th class="num" title="sent, and not confirmed yet">Unconfirmed</th><th class="num" title="arrived there, and not received by a program yet">Unread there</th><th class="num">Oldest</th><th>Last error</th><th><span class="soft">Acts</span></th></tr></thead>
      <tbody>{rows.map((one) => <tr><td class="destination"><span title={plain(one.name)}>{plain(destination(one.name))}</span>{one.next_hop && <><br /><span class="soft mono">{plain(one.next_hop)}</span></>}</td><td class={one.failures ? "bad" : one.state === "connected" ? "good" : ""}>{one.failures ? `✕\u00a0${one.state}` : one.state}</td><td class="num" data-title="Waiting">{count(one.messages)}</td><td class="num" data-title="Unconfirmed">{count(one.unacknowledged)}</td><td class="num" data-title="Unread there">{count(one.unprocessed)}</td><td class="num" data-title="Oldest">{age(one.oldest_age)}</td>
        <td class="wide">{one.failures ? `${many(one.failures, "attempt")} failed: ${plain(one.last_error)}` : plain(one.last_error)}{!!one.next_retry && <span class="soft"> next try in {age(one.next_retry)}</span>}{!!one.attempts?.length && <details><summary>{many(one.attempts.length, "attempt")}</summary><ul class="attempts">{one.attempts.map((past) => <li><When class="mono" at={new Date(past.time * 1000).toISOString()} /> {plain(past.status)} <span class="soft">{plain(past.address)}</span></li>)}</ul></details>}</td>
        <td class="acts">{may("operate") && <>{one.state === "on hold" ? <button onClick={() => act(one.name, "resume")}>Resume</button> : <button onClick={() => act(one.name, "pause")}>Pause</button>}<button onClick={() => act(one.name, "retry")}>Retry now</button></>}</td></tr>)}</tbody></table></div>}
    <Sessions name={name} />
    <Dependents name={name} />
    {!!peers?.length && <><h2>Other managers</h2><Peers rows={peers} /></>}
    {!!groups?.length && <><h2>Multicast</h2>{groups.some((one) => one.lost) && <p class="bad">✕ Packets were lost for good: messages are missing.</p>}<Rows rows={groups} /></>}</>;
}

const listed = (value: unknown) => Array.isArray(value) ? value.join(", ") : value ? String(value) : "";
function Peers(props: { rows: Row[] }) {
  return <div class="scroll" tabIndex={0} role="region" aria-label="Other managers"><table><thead><tr><th>Manager</th><th>Address</th><th>Sessions with</th><th>Known how</th></tr></thead><tbody>{props.rows.map((one) =>
    <tr><td class="wrap">{plain(listed(one.names)) || <span class="soft">no name yet</span>}<br /><span class="mono soft">{plain(String(one.id))}</span></td><td class="mono">{one.address ? plain(`${one.address}${one.port ? `:${one.port}` : ""}`) : <span class="soft">never dialled</span>}</td><td class="mono">{plain(listed(one.sessions)) || <span class="soft">none</span>}</td>
      <td>{one.pinned ? "pinned by the configuration" : "as it says itself"}{one.relay ? ", relays" : ""}{one.missing ? <span class="bad">, {count(Number(one.missing))} messages missing</span> : ""}{listed(one.claimed_from) && <span class="warn">, also claimed from {plain(listed(one.claimed_from))}</span>}</td></tr>)}</tbody></table></div>;
}
