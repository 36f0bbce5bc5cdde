// Readers that keep their place: pipelines of Spark and other subscriptions.
import { useState } from "preact/hooks";
import { api, ApiError, managerPath, pageOf } from "./api";
import { age, count, many, perSecond, plain, seconds, shortName, size } from "./format";
import { failed, manager, may, say } from "./state";
import { Command, Dialog, Empty, first, Head, Link, quoted, useData, When } from "./ui";

interface Backlog { manager: string; queue: string; lag: number; oldest: number | null }
interface Pipeline { name: string; kind: string; state: string; file: string; host: string; started: string; ended: string; batches: number; rows: number; seconds: number | null; rate: number | null; lag: number | null; oldest: number | null; queues: Backlog[]; error: string; report: string; can_run: boolean }

interface Job { id: string; pipeline: string; act: string; state: string; who: string; started: string; ended: string | null; done: number; total: number | null; error: string; result: { rows?: number; files?: number; batches?: number; faults?: string[] }; command: string }

interface Subscription { name: string; queue: string; copy: boolean; committed: number; uncommitted: number; bytes: number; idle: number; lag: number; oldest: number | null; unread: number }

const none = <span class="soft">–</span>;

/** What a job has found, in words. */
const outcome = (job: Job) => job.error || (job.act === "verify" && job.state === "done" ? `${many(job.result.rows || 0, "row")} in ${many(job.result.files || 0, "file")}: every message once` : job.act === "run" && job.state !== "running" ? many(job.result.rows ?? job.done, "row") : "");

/** What was begun here, and how far it is. */
function Jobs(props: { jobs: Job[]; onStop: (job: Job) => void }) {
  return <><h2>Started from this console</h2><div class="scroll" tabIndex={0} role="region" aria-label="Started from this console"><table><thead><tr><th>Pipeline</th><th>Act</th><th>State</th><th>Since</th><th>Who</th><th>Progress</th><th>Outcome</th><th><span class="soft">Acts</span></th></tr></thead>
    <tbody>{props.jobs.map((job) => <tr><td class="name">{plain(job.pipeline)}</td><td>{job.act}</td><td class={job.state === "failed" ? "bad" : job.state === "done" ? "good" : ""}>{job.state === "failed" ? "✕ " : job.state === "done" ? "✓ " : ""}{job.state}</td><td><When class="mono" at={job.ended || job.started} /></td><td class="wrap">{plain(job.who)}</td>
      <td>{job.total ? <progress max={job.total} value={job.done} aria-label={`${job.act} ${plain(job.pipeline)}`}>{job.done}</progress> : null} {job.total ? `${count(job.done)} of ${many(job.total, "file")}` : job.act === "run" ? many(job.done, "row") : ""}</td><td class="wrap">{plain(outcome(job))}</td><td class="acts">{may("operate") && job.state === "running" && <button onClick={() => props.onStop(job)}>Stop</button>}</td></tr>)}</tbody></table></div></>;
}

/** Messages that wait for a pipeline, and where, if there is more than one queue. */
function Waiting(props: { one: Pipeline }) {
  const { lag, queues } = props.one;
  if (lag === null) return none;
  if (queues.length < 2) return <span title={queues.map((one) => `${plain(one.queue)} at ${plain(one.manager)}`).join("")}>{count(lag)}</span>;
  return <details><summary>{count(lag)} in {many(queues.length, "queue")}</summary><ul class="attempts">{queues.map((one) => <li>{count(one.lag)} in {plain(shortName(one.queue))} <span class="soft">at {plain(one.manager)}{one.oldest === null ? "" : `, the oldest for ${age(one.oldest)}`}</span></li>)}</ul></details>;
}

const isBad = (one: Pipeline) => !!one.error || one.state === "lost";
const STATES: Record<string, string> = { lost: "its process ended without a word", stopping: "it ends after the batch that it is at" };

export function Pipelines() {
  const name = manager.value;
  const [denied, setDenied] = useState(false);
  const ask = <T,>(path: string) => api<T[]>(path).catch((error) => { if (error instanceof ApiError && error.status === 403) { setDenied(true); return []; } throw error; });
  const [runs, again] = useData(() => ask<Pipeline>("/pipelines"), [], 3);
  const [jobs, look] = useData(() => ask<Job>("/jobs"), [], 2);
  const [ending, setEnding] = useState<Pipeline>();
  const [starting, setStarting] = useState<{ one: Pipeline; act: "run" | "verify" }>();
  const start = (one: Pipeline, act: string) => api<Job>(`/pipelines/${encodeURIComponent(one.name)}/${act}`, "POST").then(() => { say(`${act}: ${one.name}`); setStarting(undefined); again(); look(); }, failed);
  const halt = (job: Job) => api<Job>(`/jobs/${job.id}/stop`, "POST").then(() => { say(`${job.pipeline} stops`); look(); }, failed);
  const stop = (one: Pipeline) => api(`/pipelines/${encodeURIComponent(one.name)}/stop`, "POST").then(() => { say(`${one.name} stops after its batch`); setEnding(undefined); again(); }, failed);
  return <><Head title="Pipelines" /><p class="soft">Spark pipelines that run, or have run, on the computer of this console.</p>
    {denied ? <Empty>Pipelines read and write any queue: they are shown to those who are not limited to some queues.</Empty> : runs && !runs.length && <Empty>No pipeline has run here. <code>openmsmq pipeline run lake.toml</code> runs one.</Empty>}
    {!!runs?.length && <div class="scroll" tabIndex={0} role="region" aria-label="Pipelines"><table class="runs cards"><thead><tr><th>Pipeline</th><th>State</th><th class="num">Rows</th><th class="num">Batches</th><th class="num" title="how long the newest batch took">Last batch</th><th class="num" title="of the newest batch">Speed</th><th class="num" title="messages that it has not read yet">Waiting</th><th class="num" title="how long the oldest of them waits">Oldest</th><th>Report</th><th><span class="soft">Acts</span></th></tr></thead>
      <tbody>{runs.map((one) => <><tr class={one.error ? "told" : ""}><td class="name" title={plain(one.file)}>{plain(one.name)}<div class="soft small">{one.kind}</div></td><td title={STATES[one.state]}><span class={isBad(one) ? "bad" : one.state === "running" ? "good" : ""}>{isBad(one) ? "✕ " : one.state === "running" ? "✓ " : ""}{one.state}</span><div class="soft small">{one.ended ? "ended" : "since"} <When at={one.ended || one.started} /></div></td>
        <td class="num" data-title="Rows">{count(one.rows)}</td><td class="num" data-title="Batches">{count(one.batches)}</td><td class="num" data-title="Last batch">{one.seconds === null ? none : seconds(one.seconds)}</td><td class="num" data-title="Speed">{one.rate === null ? none : `${perSecond(one.rate)} rows/s`}</td><td class="num" data-title="Waiting"><Waiting one={one} /></td><td class="num" data-title="Oldest">{one.oldest === null ? none : age(one.oldest)}</td>
        <td data-title="Report">{one.report ? <a href={one.report} target="_blank" rel="noopener">open ↗<span class="unseen"> the report of {plain(one.name)}</span></a> : none}</td>
        <td class="acts">{may("operate") && one.state === "running" && <button onClick={() => setEnding(one)}>Stop…</button>}{may("admin") && one.can_run && <button onClick={() => setStarting({ one, act: "run" })}>Run…</button>}{may("operate") && one.kind === "archive" && <button onClick={() => setStarting({ one, act: "verify" })}>Verify…</button>}</td></tr>
        {one.error && <tr class="why"><td colSpan={10} class="bad">{plain(one.error)}</td></tr>}</>)}</tbody></table></div>}
    {!!jobs?.length && <Jobs jobs={jobs} onStop={halt} />}
    {starting && <Dialog title={starting.act === "run" ? `Run ${plain(starting.one.name)}?` : `Verify the archive of ${plain(starting.one.name)}?`} onClose={() => setStarting(undefined)}>
      <p>{starting.act === "run" ? <>It runs on the computer of this console, as the user of its service, as <code>{plain(starting.one.file)}</code> says, and goes on where it was. When the console ends, it stops.</> : <>All files of the archive are read and compared with what its commits say: every message has to be there once. Nothing is changed.</>}</p>
      <Command request={{ method: "POST", path: `/pipelines/${encodeURIComponent(starting.one.name)}/${starting.act}` }}>{`openmsmq pipeline ${starting.act} ${quoted(starting.one.file)}`}</Command>
      <div class="acts"><button onClick={() => setStarting(undefined)}>Cancel</button><button class="main" {...first} onClick={() => start(starting.one, starting.act)}>{starting.act === "run" ? "Run" : "Verify"}</button></div></Dialog>}
    <Subscriptions name={name} />
    {ending && <Dialog title={`Stop ${plain(ending.name)}?`} onClose={() => setEnding(undefined)}><p>It ends after the batch that it is at, and goes on from there when it is run again. Nothing is lost.</p><Command request={{ method: "POST", path: `/pipelines/${encodeURIComponent(ending.name)}/stop` }}>{`openmsmq pipeline stop ${quoted(ending.name)}`}</Command>
      <div class="acts"><button {...first} onClick={() => setEnding(undefined)}>Cancel</button><button class="danger" onClick={() => stop(ending)}>Stop</button></div></Dialog>}</>;
}

/** Who reads a queue under a name of its own, how far it is, and what it holds. */
function Subscriptions(props: { name: string }) {
  const base = `${managerPath(props.name)}/subscriptions`;
  const [rows, again] = useData(() => api<Subscription[]>(base), [base], 5);
  const [dropping, setDropping] = useState<Subscription>();
  const taken = (one: Subscription) => one.uncommitted + one.unread;
  const pathOf = (one: Subscription) => `${base}/${encodeURIComponent(one.name)}?${new URLSearchParams({ queue: one.queue, uncommitted: String(taken(one)) })}`;
  const drop = (one: Subscription) => api(pathOf(one), "DELETE").then(() => { say(`dropped ${one.name}`); setDropping(undefined); again(); }, failed);
  return <><h2>Subscriptions of {plain(props.name)}</h2>
    {rows && !rows.length && <Empty>No one subscribes to a queue.</Empty>}
    {!!rows?.length && <div class="scroll" tabIndex={0} role="region" aria-label="Subscriptions"><table><thead><tr><th>Subscription</th><th>Queue</th><th>Messages</th><th class="num" title="messages of the queue that it was not given yet">Waiting</th><th class="num">Oldest</th><th class="num" title="messages that it was given and may read again">Not committed</th><th class="num" title="messages that it committed without reading them; they are kept">Not read</th><th class="num">Last commit</th><th><span class="soft">Acts</span></th></tr></thead>
      <tbody>{rows.map((one) => <tr><td class="name">{plain(one.name)}</td><td><Link to={pageOf(props.name, one.queue)}>{plain(shortName(one.queue))}</Link></td><td>{one.copy ? "stay in the queue" : "are taken from it"}</td><td class="num" title={one.copy ? "as many, or more" : undefined}>{one.copy && one.lag ? "≥ " : ""}{count(one.lag)}</td><td class="num">{one.oldest === null ? none : age(one.oldest)}</td><td class="num">{count(one.uncommitted)}{!!one.bytes && <span class="soft">, {size(one.bytes)}</span>}</td><td class={"num" + (one.unread ? " warn" : "")}>{count(one.unread)}</td><td class="num">{one.idle ? `${age(one.idle)} ago` : none}</td>
        <td class="acts">{may("admin") && <button onClick={() => setDropping(one)}>Drop…</button>}</td></tr>)}</tbody></table></div>}
    {dropping && <Dialog title={`Drop the subscription ${plain(dropping.name)}?`} onClose={() => setDropping(undefined)}><p>{dropping.copy ? `It forgets how far it has read ${plain(shortName(dropping.queue))}; the messages are in the queue as before.` : `${many(taken(dropping), "message")} that it has not committed go back to ${plain(shortName(dropping.queue))}.`} A reader that uses the name again begins anew.</p>
      <Command request={{ method: "DELETE", path: pathOf(dropping) }}>{`openmsmq subscription drop ${quoted(dropping.name)} ${quoted(shortName(dropping.queue))}`}</Command>
      <div class="acts"><button {...first} onClick={() => setDropping(undefined)}>Cancel</button><button class="danger" onClick={() => drop(dropping)}>Drop</button></div></Dialog>}</>;
}
