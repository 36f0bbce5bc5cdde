// One session: who is connected, how much is under way, and the last packets.
import { api, managerPath, pageOf } from "./api";
import { age, count, plain, shortName, size } from "./format";
import { manager } from "./state";
import { Command, Empty, Facts, Head, Link, useData, When } from "./ui";
import type { SessionRow } from "./service";

interface Packet { millis: number; is_sent: boolean; kind: string; size: number }
interface Details { session: SessionRow; state: string; window: number | null; own_window: number | null; room: number | null; unacknowledged: number | null; to_acknowledge: number | null; ack_wait: number | null; packets: Packet[]; queues: string[] }

export function SessionScreen(props: { queue: string }) {
  const name = manager.value, id = props.queue, base = `${managerPath(name)}/sessions/${encodeURIComponent(id)}`;
  const [found] = useData(() => api<Details>(base), [base], 3);
  const over = <><Link to={`/m/${encodeURIComponent(name)}/outgoing`}>{plain(name)}</Link> / sessions</>;
  if (!found) return <Head title={`Session ${id}`} over={over} />;
  const one = found.session, number = (value: number | null) => value === null ? "not known" : count(value);
  const windows: [string, string][] = found.window === null ? [] : [["window", `${count(found.window)} messages may be under way to the other side`], ["room", `${number(found.room)} could be sent now`], ["not acknowledged", number(found.unacknowledged)],
    ["own window", `${number(found.own_window)} messages may be under way to us`], ["to be acknowledged", number(found.to_acknowledge)], ["given up after", `${number(found.ack_wait)} s without an acknowledgement`]];
  return <><Head title={`Session ${one.id} with ${one.peer}`} over={over} />
    <Facts rows={[["kind", one.incoming ? one.kind : `${one.kind}, dialled`], ["who", plain([one.who, one.name].filter(Boolean).join(", ")) || "not known"], ["state", found.state], ["for", age(one.age)], ["received", size(one.received)], ["sent", size(one.sent)], ...windows]} />
    {one.kind !== "manager" && <><h2>Open queues</h2>{found.queues.length ? <ul>{found.queues.map((queue) => <li><Link to={pageOf(name, queue)}>{plain(shortName(queue))}</Link></li>)}</ul> : <Empty>None that you may see.</Empty>}</>}
    {one.kind === "manager" && <><h2>Last packets</h2><p class="soft">What they are and how long, not what is in them: a <Link to={`/m/${encodeURIComponent(name)}/outgoing`}>recording</Link> has that.</p>
      {found.packets.length ? <div class="scroll" tabIndex={0} role="region" aria-label="Last packets"><table><thead><tr><th>Time</th><th>Way</th><th>Packet</th><th class="num">Size</th></tr></thead>
        <tbody>{found.packets.map((packet) => <tr><td><When class="mono" at={new Date(packet.millis).toISOString()} /></td><td>{packet.is_sent ? "→ sent" : "← received"}</td><td>{plain(packet.kind)}</td><td class="num">{size(packet.size)}</td></tr>)}</tbody></table></div> : <Empty>Nothing was said yet.</Empty>}</>}
    <Command request={{ method: "GET", path: base }}>{`openmsmq session show ${one.id}`}</Command></>;
}
