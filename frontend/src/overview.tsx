// What operators keep on the second screen: is it healthy, what is stuck, who must act.
import { api, managerPath, pageOf, type Finding, type ManagerView } from "./api";
import { useState } from "preact/hooks";
import { count, many, plain, size, speed, time, title as capital } from "./format";
import { failed, manager, may, say, session } from "./state";
import { Chart, Command, Dialog, Empty, first, Head, Link, Spans, useData } from "./ui";

export const linkOf = (name: string, finding: Finding) =>
  finding.kind === "dead letters" || finding.kind === "poison" ? `/m/${encodeURIComponent(name)}/letters`
    : finding.kind === "disk" ? `/m/${encodeURIComponent(name)}/queues?sort=-bytes` : finding.kind === "transaction" ? `/m/${encodeURIComponent(name)}/transactions`
    : finding.kind === "outgoing" || finding.kind === "paused" ? `/m/${encodeURIComponent(name)}/outgoing` : pageOf(name, finding.queue);

const word = (text: string) => `'${text.replaceAll("'", `'\\''`)}'`;
interface Told { name: string; one: Finding }

function Silence(props: { told: Told; onClose: () => void; onDone: (told: Told, hours: number, reason: string) => void }) {
  const [hours, setHours] = useState("4");
  const [reason, setReason] = useState("");
  return <Dialog title="Silence a finding" onClose={props.onClose}><form onSubmit={(e) => { e.preventDefault(); props.onDone(props.told, Number(hours) || 4, reason); }}>
    <p>{plain(props.told.one.text)}</p>
    <label>Hours <input type="number" min="1" max="720" required {...first} value={hours} onInput={(e) => setHours(e.currentTarget.value)} /></label>
    <label>Reason, for the audit log <input maxLength={500} value={reason} onInput={(e) => setReason(e.currentTarget.value)} /></label>
    <Command request={{ method: "POST", path: `${managerPath(props.told.name)}/findings/silence`, body: { kind: props.told.one.kind, queue: props.told.one.queue, hours: Number(hours) || 4, reason } }}>{`openmsmq console silence ${word(props.told.one.kind)}${props.told.one.queue ? ` ${word(props.told.one.queue)}` : ""} --hours ${Number(hours) || 4}${reason ? ` --reason ${word(reason)}` : ""} --data DIR`}</Command>
    <div class="acts"><button type="button" onClick={props.onClose}>Cancel</button><button class="main">Silence</button></div></form></Dialog>;
}

export function Overview() {
  const names = session.value!.managers;
  const [managers] = useData(() => api<ManagerView[]>("/managers"), [], 2);
  const [silencing, setSilencing] = useState<Told>();
  const [showing, setShowing] = useState(false);
  const [found, again] = useData(async () => (await Promise.all(names.map((name) =>
    api<Finding[]>(managerPath(name) + "/findings").then((all) => all.map((one) => ({ name, one })),
      (error: Error) => [{ name, one: { level: "problem", kind: "away", text: `${name} cannot be asked: ${error.message}`, remedy: "is it running?", queue: "", silenced: null } as Finding }])))).flat(), [], 4);
  const findings = found?.filter(({ one }) => !one.silenced), silent = found?.filter(({ one }) => one.silenced) || [];
  const silence = ({ name, one }: Told, hours: number, reason = "") => api(`${managerPath(name)}/findings/silence`, "POST", { kind: one.kind, queue: one.queue, hours, reason }).then(() => { say(hours ? `silent for ${hours} h` : "heard again"); setSilencing(undefined); again(); }, failed);
  const name = manager.value;
  const [span, setSpan] = useState("15m");
  const [series] = useData(() => api<Record<string, (number | null)[]>>(`${managerPath(name)}/series?span=${span}`), [name, span], span === "15m" ? 2 : 30);
  const [sessions] = useData(() => api<unknown[]>(`${managerPath(name)}/sessions`).catch(() => []), [name], 10);
  const here = managers?.find((one) => one.name === name);
  const times = (series?.time || []) as number[];
  const base = `/m/${encodeURIComponent(name)}`;
  const charts: [string, string, string, string][] = [["waiting", "messages", "", `${base}/queues?nonempty=true&sort=-messages`], ["in", "arrived", "/s", `${base}/queues`], ["out", "received", "/s", `${base}/queues`], ["dead letters", "dead_letters", "", `${base}/letters`], ["expired", "expired", "/s", `${base}/letters`], ["rejected", "rejected", "/s", `${base}/letters`]];
  const ill = new Set(findings?.map((told) => told.name)).size;
  return <>
    <Head title="Overview"><span class="soft" role="status">{many(names.length, "manager")}{findings && (ill ? <>, <strong class="bad">{ill === 1 ? "1 needs" : `${ill} need`} attention</strong></> : ", all well")}</span></Head>
    <h2 id="attention">Needs attention {findings?.length ? <span class="bad">({findings.length})</span> : null}</h2>
    {findings && !findings.length && <Empty>✓ Nothing needs attention.</Empty>}
    <ul class="findings" aria-labelledby="attention">{findings?.map(({ name, one }) => <li class={one.level}>
      <span class="level">{one.level === "problem" ? "‼ problem" : "! warning"}</span>
      <span>{names.length > 1 && <strong>{name} </strong>}{plain(one.text)}<br /><span class="soft">{one.remedy}</span></span>
      {one.kind !== "away" && <span class="more">{may("admin") && <button class="plain" onClick={() => setSilencing({ name, one })}>silence…</button>} {one.kind === "old" && <Link to={`${pageOf(name, one.queue, "history")}?event=received`}>who read it? ›</Link>} <Link to={linkOf(name, one)}>{one.kind === "disk" ? "what takes it? ›" : "open ›"}</Link></span>}</li>)}</ul>
    {!!silent.length && <p class="soft">{silent.length} silent. <button class="plain" aria-expanded={showing} onClick={() => setShowing(!showing)}>{showing ? "hide" : "show"}</button></p>}
    {showing && <ul class="findings">{silent.map(({ name, one }) => <li class="silent"><span>{names.length > 1 && <strong>{name} </strong>}{plain(one.text)} <span class="soft">until {time(one.silenced!)}</span></span>{may("admin") && <button class="plain more" onClick={() => silence({ name, one }, 0)}>hear again</button>}</li>)}</ul>}
    {silencing && <Silence told={silencing} onClose={() => setSilencing(undefined)} onDone={silence} />}
    <div class="head sub"><h2>{plain(name)} {here && <span class="soft facts-line">{here.free !== null && `${size(here.free)} free on the disk, `}<Link to={`${base}/outgoing`}>{many(sessions?.length ?? 0, "session")}</Link></span>}</h2><div class="acts"><Spans span={span} onChange={setSpan} /></div></div>
    <div class="tiles">{series && charts.map(([title, key, unit, to]) => <Chart key={name + key + span} title={capital(title)} unit={unit} to={to} times={times} values={series[key] || times.map(() => null)} />)}</div>
    <h2>Managers</h2>
    <div class="scroll" tabIndex={0} role="region" aria-label="Managers"><table><thead><tr><th>Manager</th><th>State</th><th class="num">Queues</th><th class="num">Messages</th><th class="num">Size</th><th class="num">Dead letters</th><th class="num">Outgoing</th><th class="num">In</th><th class="num">Out</th></tr></thead>
      <tbody>{managers?.map((one) => { const base = `/m/${encodeURIComponent(one.name)}`; return <tr>
        <td class="name"><Link to={`${base}/queues`}>{plain(one.name)}</Link></td>
        <td class={one.state === "ready" ? "good" : "bad"}>{one.state === "ready" ? "✓ ready" : `✕ ${one.state} ${one.error}`}</td>
        <td class="num">{count(one.queues)}</td><td class="num"><Link to={`${base}/queues`}>{count(one.messages)}</Link></td><td class="num">{size(one.bytes)}</td>
        <td class={"num" + (one.dead_letters ? " bad" : "")}><Link to={`${base}/letters`}>{count(one.dead_letters)}</Link></td>
        <td class="num"><Link to={`${base}/outgoing`}>{count(one.outgoing)}</Link></td>
        <td class="num">{speed(one.rates.arrived)}</td><td class="num">{speed(one.rates.received)}</td></tr>; })}</tbody></table></div>
  </>;
}
