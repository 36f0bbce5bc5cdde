// Managers and the ways between them, as a picture and as a table.
import { api, managerPath, type ManagerView, type Outgoing, type QueueView } from "./api";
import { count, many, plain, speed } from "./format";
import { joined, layersOf, NODES, type Way } from "./layers";
import { Sites } from "./sites";
import { go, session } from "./state";
import { Empty, Head, Link, useData } from "./ui";

const WIDTH = 180, HEIGHT = 44, ACROSS = 420, DOWN = 78, EDGE = 16;

/** What leaves the outgoing queues of a manager, a second. */
const leaving = (name: string) => api<{ queues: QueueView[] }>(`${managerPath(name)}/queues?${new URLSearchParams({ everything: "true", name: "*=*", limit: "1000" })}`)
  .then((page) => new Map(page.queues.map((one) => [one.name, one.leaving || 0])), () => new Map<string, number>());

const waysOf = async (name: string): Promise<Way[]> => {
  const [rows, rates] = await Promise.all([api<Outgoing[]>(`${managerPath(name)}/outgoing`).catch(() => []), leaving(name)]);
  return rows.map((one) => ({ from: name, to: one.name, waiting: one.messages + one.unacknowledged, rate: rates.get(one.name) || 0, failures: one.failures, error: one.failures ? one.last_error : "" }));
};

/** Where one reads why messages wait. */
const placeOf = (way: Way) => `/m/${encodeURIComponent(way.from)}/outgoing`;
const words = (way: Way) => way.failures ? `✕ ${count(way.waiting)} wait, ${many(way.failures, "attempt")} failed` : [way.rate ? speed(way.rate) : "", way.waiting ? `${count(way.waiting)} wait` : ""].filter(Boolean).join(", ") || "idle";

export function MapScreen() {
  const names = session.value!.managers;
  const [found] = useData(async () => (await Promise.all(names.map(waysOf))).flat(), [], 3);
  const [managers] = useData(() => api<ManagerView[]>("/managers"), [], 5);
  const ways = joined(found || [], names), layers = layersOf(ways, names);
  const spots = new Map(layers.flatMap((layer, n) => layer.map((name, at): [string, [number, number]] => [name, [EDGE + n * ACROSS, EDGE + at * DOWN]])));
  const width = 2 * EDGE + (layers.length - 1) * ACROSS + WIDTH, height = 2 * EDGE + (Math.max(1, ...layers.map((layer) => layer.length)) - 1) * DOWN + HEIGHT;
  return <><Head title="Map"><span class="soft">{many(names.length, "manager")} of this console, {many(spots.size - names.length, "other")}</span></Head>
    {!!managers && <div class="scroll" tabIndex={0} role="region" aria-label="Map"><svg class="map" width={width} height={height} viewBox={`0 0 ${width} ${height}`} role="img" aria-label="Managers and the ways between them; the table below says the same">
      <defs><marker id="tip" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="8" markerHeight="8" orient="auto-start-reverse" markerUnits="userSpaceOnUse"><path d="M0 0 8 4 0 8z" /></marker></defs>
      {["line", "text"].map((part) => ways.map((one) => { const [x1, y1] = spots.get(one.from)!, [x2, y2] = spots.get(one.to)!; const back = x2 <= x1;
        const sx = x1 + (back ? 0 : WIDTH), ex = x2 + (back ? WIDTH : 0), sy = y1 + HEIGHT / 2 + (back ? 9 : 0), ey = y2 + HEIGHT / 2 + (back ? 9 : 0);
        return <g class={one.failures ? "way failing" : "way"} onClick={() => go(placeOf(one))}>{part === "line" ? <line x1={sx} y1={sy} x2={ex} y2={ey} marker-end="url(#tip)" /> : <text x={(sx + ex) / 2} y={(sy + ey) / 2 + (back ? 16 : -6)} text-anchor="middle">{words(one)}</text>}</g>; }))}
      {[...spots].map(([name, [x, y]]) => { const known = managers.find((one) => one.name === name); const is = known ? (known.state === "ready" ? many(known.messages, "message") : `✕ ${known.state}`) : "not in this console";
        return <g class={known && known.state !== "ready" ? "away" : known ? "" : "other"}><rect x={x} y={y} width={WIDTH} height={HEIGHT} rx={6} /><text x={x + 10} y={y + 18}>{plain(name).slice(0, 24)}</text><text class="soft" x={x + 10} y={y + 35}>{is}</text></g>; })}</svg></div>}
    <h2>Ways between managers</h2>{ways.length ? <div class="scroll" tabIndex={0} role="region" aria-label="Ways between managers"><table><thead><tr><th>From</th><th>To</th><th>State</th><th class="num">Waiting</th><th class="num">Out</th><th class="num">Failed attempts</th><th>Last error</th></tr></thead>
      <tbody>{ways.map((one) => <tr><td class="name">{plain(one.from)}</td><td class="name"><Link to={placeOf(one)} title="its outgoing messages">{plain(one.to)}</Link></td><td class={one.failures ? "bad" : "good"}>{one.failures ? "✕ failing" : "✓ works"}</td><td class="num"><Link to={placeOf(one)}>{count(one.waiting)}</Link></td><td class="num">{speed(one.rate)}</td><td class="num">{count(one.failures)}</td><td class="wrap">{plain(one.error)}</td></tr>)}</tbody></table></div> : found && <Empty>Nothing is on its way between managers.</Empty>}
    {spots.size >= NODES && <p class="soft">At most {count(NODES)} managers are drawn; those with the fewest messages are one box.</p>}
    {names.map((name) => <Sites name={name} />)}</>;
}
