// Readers that keep their place: pipelines of Spark and other subscriptions.
import { useState } from "preact/hooks";
import { api, managerPath, type Row } from "./api";
import { age, count, plain, speed, time } from "./format";
import { failed, manager, may, say } from "./state";
import { Command, Dialog, Empty, first, Head, Rows, useData } from "./ui";

interface Pipeline { name: string; kind: string; state: string; file: string; host: string; started: string; ended: string; batches: number; rows: number; rate: number | null; lag: number | null; oldest: number | null; error: string }

export function Pipelines() {
  const name = manager.value;
  const [runs, again] = useData(() => api<Pipeline[]>("/pipelines"), [], 3);
  const [rows] = useData(() => api<Row[]>(`${managerPath(name)}/subscriptions`), [name], 5);
  const [ending, setEnding] = useState<Pipeline>();
  const stop = (one: Pipeline) => api(`/pipelines/${encodeURIComponent(one.name)}/stop`, "POST").then(() => { say(`${one.name} stops after its batch`); setEnding(undefined); again(); }, failed);
  return <><Head title="Pipelines" /><p class="soft">Pipelines of Spark that run on the computer of this console, as the user of the service.</p>
    {runs && !runs.length && <Empty>No pipeline has run here. <code>openmsmq pipeline run lake.toml</code> runs one.</Empty>}
    {!!runs?.length && <div class="scroll" tabIndex={0} role="region" aria-label="Pipelines"><table><thead><tr><th>Pipeline</th><th>Kind</th><th>State</th><th>Since</th><th class="num">Batches</th><th class="num">Rows</th><th class="num">Rate</th><th class="num">Waiting</th><th class="num">Oldest</th><th>Error</th><th><span class="soft">Acts</span></th></tr></thead>
      <tbody>{runs.map((one) => <tr title={one.file}><td class="name">{plain(one.name)}</td><td>{one.kind}</td><td class={one.state === "running" ? "good" : one.error || one.state === "lost" ? "bad" : ""}>{one.state === "running" ? "✓ " : one.error || one.state === "lost" ? "✕ " : ""}{one.state}</td><td class="mono">{time(one.ended || one.started)}</td><td class="num">{count(one.batches)}</td><td class="num">{count(one.rows)}</td><td class="num">{speed(one.rate)}</td><td class="num">{one.lag === null ? "" : count(one.lag)}</td><td class="num">{age(one.oldest)}</td><td class="wrap">{plain(one.error)}</td>
        <td class="acts">{may("operate") && one.state === "running" && <button onClick={() => setEnding(one)}>Stop…</button>}</td></tr>)}</tbody></table></div>}
    <h2>Subscriptions of {plain(name)}</h2>
    {rows && !rows.length && <Empty>No one subscribes to a queue.</Empty>}{!!rows?.length && <Rows rows={rows} />}
    {ending && <Dialog title={`Stop ${plain(ending.name)}?`} onClose={() => setEnding(undefined)}><p>It ends after the batch that it is at, and goes on from there when it is run again. Nothing is lost.</p><Command request={{ method: "POST", path: `/pipelines/${encodeURIComponent(ending.name)}/stop` }}>{`openmsmq pipeline stop ${ending.name}`}</Command>
      <div class="acts"><button {...first} onClick={() => setEnding(undefined)}>Cancel</button><button class="danger" onClick={() => stop(ending)}>Stop</button></div></Dialog>}</>;
}
