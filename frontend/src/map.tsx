// Managers and the ways between them, as a picture and as a table.
import { api, managerPath, type ManagerView, type Outgoing } from "./api";
import { count, many, plain } from "./format";
import { Sites } from "./sites";
import { session } from "./state";
import { Empty, Head, Rows, useData } from "./ui";

export function MapScreen() {
  const names = session.value!.managers;
  const [links] = useData(async () => (await Promise.all(names.map((name) => api<Outgoing[]>(`${managerPath(name)}/outgoing`).then((all) => all.map((one) => ({ from: name, one })), () => [])))).flat(), [], 3);
  const [managers] = useData(() => api<ManagerView[]>("/managers"), [], 5);
  const targetOf = (text: string) => /^DIRECT=(?:OS|TCP|HTTPS?):(?:\/\/)?([^\\/]+)/i.exec(text)?.[1] || text;
  const joined = new Map<string, { from: string; to: string; waiting: number; failures: number; error: string }>();
  for (const { from, one } of links || []) {
    const to = targetOf(one.name), key = `${from}\n${to}`;
    const link = joined.get(key) || { from, to, waiting: 0, failures: 0, error: "" };
    link.waiting += one.messages + one.unacknowledged; link.failures += one.failures; link.error ||= one.failures ? one.last_error : "";
    joined.set(key, link);
  }
  const all = [...joined.values()].slice(0, 60);
  const right = [...new Set(all.map((one) => one.to).filter((to) => !names.includes(to)))].slice(0, 60);
  const at = (list: string[], name: string) => 30 + list.indexOf(name) * 70;
  const spot = (name: string): [number, number] => names.includes(name) ? [20, at(names, name)] : [560, at(right, name)];
  const height = 20 + 70 * Math.max(1, names.length, right.length);
  return <><Head title="Map" />
    <svg class="map" viewBox={`0 0 760 ${height}`} role="img" aria-label="Managers and the ways between them; the table below says the same">
      {all.map((one) => { const [x1, y1] = spot(one.from), [x2, y2] = spot(one.to); return <g class={one.failures ? "failing" : ""}><line x1={x1 + 180} y1={y1 + 20} x2={x2} y2={y2 + 20} /><text x={(x1 + 180 + x2) / 2} y={(y1 + y2) / 2 + 14} text-anchor="middle">{one.failures ? `✕ ${count(one.waiting)} wait, ${many(one.failures, "attempt")} failed` : `→ ${count(one.waiting)}`}</text></g>; })}
      {[...names, ...right].map((name) => { const [x, y] = spot(name); const known = managers?.find((one) => one.name === name); return <g><rect x={x} y={y} width={180} height={40} rx={6} /><text x={x + 10} y={y + 17}>{plain(name).slice(0, 24)}</text><text x={x + 10} y={y + 33}>{known ? `${known.state}, ${many(known.messages, "message")}` : "elsewhere"}</text></g>; })}</svg>
    <h2>Ways</h2>{all.length ? <Rows rows={all.map((one) => ({ ...one }))} /> : <Empty>Nothing is on its way between managers.</Empty>}
    {names.map((name) => <Sites name={name} />)}</>;
}
