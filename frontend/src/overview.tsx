// What operators keep on the second screen: is it healthy, what is stuck, who must act.
import { api, managerPath, pageOf, type Finding, type ManagerView } from "./api";
import { count, plain, size } from "./format";
import { manager, session } from "./state";
import { Chart, Empty, Head, Link, useData } from "./ui";

export const linkOf = (name: string, finding: Finding) =>
  finding.kind === "dead letters" || finding.kind === "poison" ? `/m/${encodeURIComponent(name)}/letters`
    : finding.kind === "transaction" ? `/m/${encodeURIComponent(name)}/transactions`
    : finding.kind === "outgoing" || finding.kind === "paused" ? `/m/${encodeURIComponent(name)}/outgoing` : pageOf(name, finding.queue);

export function Overview() {
  const names = session.value!.managers;
  const [managers] = useData(() => api<ManagerView[]>("/managers"), [], 2);
  const [findings] = useData(async () => (await Promise.all(names.map((name) =>
    api<Finding[]>(managerPath(name) + "/findings").then((all) => all.map((one) => ({ name, one })),
      (error: Error) => [{ name, one: { level: "problem", kind: "away", text: `${name} cannot be asked: ${error.message}`, remedy: "is it running?", queue: "" } as Finding }])))).flat(), [], 4);
  const name = manager.value;
  const [series] = useData(() => api<Record<string, (number | null)[]>>(managerPath(name) + "/series"), [name], 2);
  const times = (series?.time || []) as number[];
  const charts: [string, string, string][] = [["messages", "messages", ""], ["in", "arrived", "/s"], ["out", "received", "/s"], ["expired", "expired", "/s"], ["delivered elsewhere", "delivered", "/s"]];
  return <>
    <Head title="Overview" />
    <h2 id="attention">Needs attention {findings?.length ? <span class="bad">({findings.length})</span> : null}</h2>
    {findings && !findings.length && <Empty>Nothing needs attention. ✓</Empty>}
    <ul class="findings" aria-labelledby="attention">{findings?.map(({ name, one }) => <li class={one.level}>
      <span class="level">{one.level === "problem" ? "‼ problem" : "! warning"}</span>
      <span>{names.length > 1 && <strong>{name} </strong>}{plain(one.text)}<br /><span class="soft">{one.remedy}</span></span>
      {one.kind !== "away" && <Link class="more" to={linkOf(name, one)}>open ›</Link>}</li>)}</ul>
    <h2>{plain(name)}, last 15 minutes</h2>
    <div class="tiles">{series && charts.map(([title, key, unit]) => <Chart key={name + key} title={title} unit={unit} times={times} values={series[key] || times.map(() => null)} />)}</div>
    <h2>Managers</h2>
    <div class="scroll"><table><thead><tr><th>Manager</th><th>State</th><th class="num">Queues</th><th class="num">Messages</th><th class="num">Bytes</th><th class="num">Dead letters</th><th class="num">Outgoing</th><th class="num">In</th><th class="num">Out</th></tr></thead>
      <tbody>{managers?.map((one) => { const base = `/m/${encodeURIComponent(one.name)}`; return <tr>
        <td class="name"><Link to={`${base}/queues`}>{plain(one.name)}</Link></td>
        <td class={one.state === "ready" ? "good" : "bad"}>{one.state === "ready" ? "✓ ready" : `✕ ${one.state} ${one.error}`}</td>
        <td class="num">{count(one.queues)}</td><td class="num"><Link to={`${base}/queues`}>{count(one.messages)}</Link></td><td class="num">{size(one.bytes)}</td>
        <td class={"num" + (one.dead_letters ? " bad" : "")}><Link to={`${base}/letters`}>{count(one.dead_letters)}</Link></td>
        <td class="num"><Link to={`${base}/outgoing`}>{count(one.outgoing)}</Link></td>
        <td class="num">{one.rates.arrived ?? "–"}/s</td><td class="num">{one.rates.received ?? "–"}/s</td></tr>; })}</tbody></table></div>
  </>;
}
