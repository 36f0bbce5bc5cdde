// Readers that keep their place: pipelines of Spark and other subscriptions.
import { useState } from "preact/hooks";
import { api, managerPath, type Row } from "./api";
import { age, count, plain, speed, time } from "./format";
import { failed, manager, may, say } from "./state";
import { Command, Dialog, Empty, first, Head, quoted, Rows, useData } from "./ui";

interface Pipeline { name: string; kind: string; state: string; file: string; host: string; started: string; ended: string; batches: number; rows: number; rate: number | null; lag: number | null; oldest: number | null; error: string; can_run: boolean }

interface Job { id: string; pipeline: string; act: string; state: string; who: string; started: string; ended: string | null; done: number; total: number | null; error: string; result: { rows?: number; files?: number; batches?: number; faults?: string[] }; command: string }

/** What a job has found, in words. */
const outcome = (job: Job) => job.error || (job.act === "verify" && job.state === "done" ? `${count(job.result.rows || 0)} rows in ${count(job.result.files || 0)} files: every message once` : job.act === "run" && job.state !== "running" ? `${count(job.result.rows ?? job.done)} rows` : "");

/** What was begun here, and how far it is. */
function Jobs(props: { jobs: Job[]; onStop: (job: Job) => void }) {
  return <><h2>Begun in this console</h2><div class="scroll" tabIndex={0} role="region" aria-label="Begun in this console"><table><thead><tr><th>Pipeline</th><th>Act</th><th>State</th><th>Since</th><th>Who</th><th>Progress</th><th>Outcome</th><th><span class="soft">Acts</span></th></tr></thead>
    <tbody>{props.jobs.map((job) => <tr><td class="name">{plain(job.pipeline)}</td><td>{job.act}</td><td class={job.state === "failed" ? "bad" : job.state === "done" ? "good" : ""}>{job.state === "failed" ? "✕ " : job.state === "done" ? "✓ " : ""}{job.state}</td><td class="mono">{time(job.ended || job.started)}</td><td class="wrap">{plain(job.who)}</td>
      <td>{job.total ? <progress max={job.total} value={job.done} aria-label={`${job.act} ${plain(job.pipeline)}`}>{job.done}</progress> : null} {count(job.done)}{job.total ? ` of ${count(job.total)} files` : job.act === "run" ? " rows" : ""}</td><td class="wrap">{plain(outcome(job))}</td><td class="acts">{may("operate") && job.state === "running" && <button onClick={() => props.onStop(job)}>Stop</button>}</td></tr>)}</tbody></table></div></>;
}

export function Pipelines() {
  const name = manager.value;
  const [runs, again] = useData(() => api<Pipeline[]>("/pipelines"), [], 3);
  const [rows] = useData(() => api<Row[]>(`${managerPath(name)}/subscriptions`), [name], 5);
  const [jobs, look] = useData(() => api<Job[]>("/jobs"), [], 2);
  const [ending, setEnding] = useState<Pipeline>();
  const [starting, setStarting] = useState<{ one: Pipeline; act: "run" | "verify" }>();
  const start = (one: Pipeline, act: string) => api<Job>(`/pipelines/${encodeURIComponent(one.name)}/${act}`, "POST").then(() => { say(`${act}: ${one.name}`); setStarting(undefined); again(); look(); }, failed);
  const halt = (job: Job) => api<Job>(`/jobs/${job.id}/stop`, "POST").then(() => { say(`${job.pipeline} stops`); look(); }, failed);
  const stop = (one: Pipeline) => api(`/pipelines/${encodeURIComponent(one.name)}/stop`, "POST").then(() => { say(`${one.name} stops after its batch`); setEnding(undefined); again(); }, failed);
  return <><Head title="Pipelines" /><p class="soft">Pipelines of Spark that run on the computer of this console, as the user of the service.</p>
    {runs && !runs.length && <Empty>No pipeline has run here. <code>openmsmq pipeline run lake.toml</code> runs one.</Empty>}
    {!!runs?.length && <div class="scroll" tabIndex={0} role="region" aria-label="Pipelines"><table><thead><tr><th>Pipeline</th><th>Kind</th><th>State</th><th>Since</th><th class="num">Batches</th><th class="num">Rows</th><th class="num">Rate</th><th class="num">Waiting</th><th class="num">Oldest</th><th>Error</th><th><span class="soft">Acts</span></th></tr></thead>
      <tbody>{runs.map((one) => <tr title={one.file}><td class="name">{plain(one.name)}</td><td>{one.kind}</td><td class={one.state === "running" ? "good" : one.error || one.state === "lost" ? "bad" : ""}>{one.state === "running" ? "✓ " : one.error || one.state === "lost" ? "✕ " : ""}{one.state}</td><td class="mono">{time(one.ended || one.started)}</td><td class="num">{count(one.batches)}</td><td class="num">{count(one.rows)}</td><td class="num">{speed(one.rate)}</td><td class="num">{one.lag === null ? "" : count(one.lag)}</td><td class="num">{age(one.oldest)}</td><td class="wrap">{plain(one.error)}</td>
        <td class="acts">{may("operate") && one.state === "running" && <button onClick={() => setEnding(one)}>Stop…</button>}{may("admin") && one.can_run && <button onClick={() => setStarting({ one, act: "run" })}>Run…</button>}{may("operate") && one.kind === "archive" && <button onClick={() => setStarting({ one, act: "verify" })}>Verify…</button>}</td></tr>)}</tbody></table></div>}
    {!!jobs?.length && <Jobs jobs={jobs} onStop={halt} />}
    {starting && <Dialog title={starting.act === "run" ? `Run ${plain(starting.one.name)}?` : `Verify the archive of ${plain(starting.one.name)}?`} onClose={() => setStarting(undefined)}>
      <p>{starting.act === "run" ? <>It runs on the computer of this console, as the user of its service, as <code>{plain(starting.one.file)}</code> says, and goes on where it was. When the console ends, it stops.</> : <>All files of the archive are read and compared with what its commits say: every message has to be there once. Nothing is changed.</>}</p>
      <Command request={{ method: "POST", path: `/pipelines/${encodeURIComponent(starting.one.name)}/${starting.act}` }}>{`openmsmq pipeline ${starting.act} ${quoted(starting.one.file)}`}</Command>
      <div class="acts"><button onClick={() => setStarting(undefined)}>Cancel</button><button class="main" {...first} onClick={() => start(starting.one, starting.act)}>{starting.act === "run" ? "Run" : "Verify"}</button></div></Dialog>}
    <h2>Subscriptions of {plain(name)}</h2>
    {rows && !rows.length && <Empty>No one subscribes to a queue.</Empty>}{!!rows?.length && <Rows rows={rows} />}
    {ending && <Dialog title={`Stop ${plain(ending.name)}?`} onClose={() => setEnding(undefined)}><p>It ends after the batch that it is at, and goes on from there when it is run again. Nothing is lost.</p><Command request={{ method: "POST", path: `/pipelines/${encodeURIComponent(ending.name)}/stop` }}>{`openmsmq pipeline stop ${ending.name}`}</Command>
      <div class="acts"><button {...first} onClick={() => setEnding(undefined)}>Cancel</button><button class="danger" onClick={() => stop(ending)}>Stop</button></div></Dialog>}</>;
}
