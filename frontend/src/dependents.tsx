// Dependent clients: programs without a queue manager that use this one, and their receives that wait.
import { api, managerPath } from "./api";
import { age, count, plain } from "./format";
import { useData } from "./ui";

interface DependentQueue { name: string; access: string; waiting: number; longest: number | null }
interface Dependent { id: string; peer: string; who: string; age: number; connections: number; received: number; sent: number; transactions: number; waiting: number; open_queues: number; queues: DependentQueue[] }

export function Dependents(props: { name: string }) {
  const [rows] = useData(() => api<Dependent[]>(`${managerPath(props.name)}/dependents`), [props.name], 3);
  if (!rows?.length) return null;
  const waiting = rows.reduce((sum, one) => sum + one.waiting, 0);
  return <><h2>Dependent clients</h2><p class="soft">Programs without a queue manager that use this one. Clients: {count(rows.length)}. Receives that wait: {count(waiting)}.</p>
    <div class="scroll" tabIndex={0} role="region" aria-label="Dependent clients"><table><thead><tr><th>Session</th><th>Client</th><th>Who</th><th class="num">For</th><th class="num">Transactions</th><th>Queue</th><th>Open to</th><th class="num">Waiting</th><th class="num">Longest</th></tr></thead>
      <tbody>{rows.flatMap((one) => (one.queues.length ? one.queues : [null]).map((queue) => <tr><td class="mono">{one.id}</td><td class="mono">{plain(one.peer)}</td><td>{plain(one.who)}</td><td class="num">{age(one.age)}</td><td class="num">{count(one.transactions)}</td>
        <td class="name mono">{queue ? plain(queue.name) : ""}</td><td>{queue?.access}</td><td class="num">{queue ? count(queue.waiting) : ""}</td><td class="num">{queue?.longest == null ? "" : age(queue.longest)}</td></tr>))}</tbody></table></div></>;
}
