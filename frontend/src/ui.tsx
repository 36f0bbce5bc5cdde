// Parts that screens are made of.
import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import uPlot from "uplot";
import { api, type Plan, type Row } from "./api";
import { count, exact, many, plain, shortName, time } from "./format";
import { failed, go, say, session } from "./state";

export function Link(props: { to: string; class?: string; current?: boolean; title?: string; tab?: number; children: ComponentChildren }) {
  return <a href={props.to} class={props.class} title={props.title} tabIndex={props.tab} aria-current={props.current ? "page" : undefined}
    onClick={(event) => { if (!event.ctrlKey && !event.metaKey && event.button === 0) { event.preventDefault(); go(props.to); } }}>
    {props.children}</a>;
}

export function Head(props: { title: string; over?: ComponentChildren; children?: ComponentChildren }) {
  const readOnly = session.value?.read_only ? " (read-only)" : "";
  useEffect(() => { document.title = `${plain(props.title)} – OpenMSMQ${readOnly}`; }, [props.title, readOnly]);
  return <header class="head"><div>{props.over && <p class="over">{props.over}</p>}<h1>{plain(props.title)}</h1></div><div class="acts">{props.children}</div></header>;
}

/** What a request answers, asked again when `keys` change and `every` seconds after an answer: a slow one is waited for. */
export function useData<T>(ask: () => Promise<T>, keys: unknown[], every = 0): [T | undefined, () => void] {
  const [data, setData] = useState<T>();
  const [turn, setTurn] = useState(0);
  useEffect(() => {
    let over = false, timer = 0;
    const later = () => { if (!over && every) timer = window.setTimeout(() => document.hidden ? later() : look(), every * 1000); };
    const look = () => { ask().then((found) => { if (!over) setData(found); }, (error) => { if (!over) failed(error); }).then(later); };
    look();
    return () => { over = true; clearTimeout(timer); };
  }, [...keys, turn]);
  useEffect(() => setData(undefined), keys);
  return [data, () => setTurn((n) => n + 1)];
}

/** Marks what has the focus first: in a dialog, and of what appears in it later. */
export const first = { "data-first": "", ref: (one: HTMLElement | null) => one?.focus() };

export function Dialog(props: { title: string; onClose: () => void; children: ComponentChildren }) {
  const ref = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    const before = document.activeElement as HTMLElement | null;
    ref.current?.showModal();
    ref.current?.querySelector<HTMLElement>("[data-first]")?.focus();
    return () => before?.focus?.();
  }, []);
  return <dialog ref={ref} onClose={props.onClose} aria-labelledby="dialog-title">
    <h2 id="dialog-title">{props.title}</h2>{props.children}</dialog>;
}

/** `file` names the file that is sent. */
export interface Request { method: string; path: string; body?: unknown; headers?: Record<string, string>; file?: string }

export const quoted = (text: string) => `'${text.replaceAll("'", `'\\''`)}'`;
/** A request as a line for a shell. */
export function curlOf(request: Request): string {
  const words = ["curl", ...(request.method === "GET" ? [] : ["-X", request.method]), "-H", '"Authorization: Bearer $OPENMSMQ_TOKEN"'];
  for (const [name, value] of Object.entries(request.headers || {})) words.push("-H", quoted(`${name}: ${value}`));
  if (request.body !== undefined) words.push("-H", quoted("Content-Type: application/json"), "--data", quoted(JSON.stringify(request.body)));
  if (request.file) words.push("-H", quoted("Content-Type: application/x-ndjson"), "--data-binary", quoted(`@${request.file}`));
  return [...words, quoted(`${location.origin}/api/v1${request.path}`)].join(" ");
}

/** Puts a text on the clipboard, in pages without TLS, too. */
export async function copy(text: string) {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    const box = document.createElement("textarea");
    box.value = text;
    (document.querySelector("dialog[open]") || document.body).append(box);
    box.select();
    document.execCommand("copy");
    box.remove();
  }
  say("copied");
}

/** The same act on the command line and over REST, to be copied. */
export function Command(props: { children?: string; request?: Request }) {
  const lines: [string, string][] = [...(props.children ? [["shell", props.children] as [string, string]] : []), ...(props.request ? [["curl", curlOf(props.request)] as [string, string]] : [])];
  return <dl class="same" aria-label="The same as a command">{lines.map(([title, line]) => <div><dt>{title}</dt><dd><code title={plain(line)}>{plain(line)}</code> <button type="button" class="plain" aria-label={`Copy for ${title}`} onClick={() => copy(line)}>copy</button></dd></div>)}</dl>;
}

/** A time with its zone, and how long ago that was, for who points at it. */
export const When = (props: { at: string; class?: string }) => <time class={props.class} dateTime={props.at} title={exact(props.at)}>{time(props.at)}</time>;
/** A button of a row. */
export const Act = (props: { main?: boolean; onClick: () => void; children: ComponentChildren }) => <button class={props.main ? "main" : ""} onClick={props.onClick}>{props.children}</button>;

export interface Wanted { manager: string; queue: string; act: string; ids?: string[]; filter?: string; target?: string }

/** What an export of the same messages asks for. */
const exportQuery = (wanted: Wanted) => wanted.ids && wanted.ids.length <= 200 ? wanted.ids.map((id) => `lookup_id=${id}`).join("&") : `filter=${encodeURIComponent(wanted.filter || "")}`;
const isKept = (queue: string) => !/\$$/.test(queue) && !/;console-trash$/.test(queue);

/** Freezes an act as a plan, shows it, runs it, follows it, and takes it back where that is possible. */
export function PlanDialog(props: { wanted: Wanted; onClose: (changed: boolean) => void }) {
  const { wanted } = props;
  const needsTarget = wanted.act === "move" || wanted.act === "copy";
  const renews = wanted.act === "return" || needsTarget;
  const removes = wanted.act === "delete" || wanted.act === "purge";
  const [target, setTarget] = useState(wanted.target || "");
  const [life, setLife] = useState("none");
  const [rate, setRate] = useState("");
  const [reason, setReason] = useState("");
  const [forGood, setForGood] = useState(wanted.act === "purge" || !isKept(wanted.queue));
  const [plan, setPlan] = useState<Plan>();
  const [failures, setFailures] = useState(0);
  const [changed, setChanged] = useState(false);
  const asked = { ...wanted, target, reason, rate: Number(rate) || null, lifetime: life === "none" ? null : life === "keep" ? "keep" : Number(life) || 60, for_good: forGood };
  const freeze = () => api<Plan>("/plans", "POST", asked).then(setPlan, failed);
  useEffect(() => { if (wanted.act === "restore") freeze(); }, []);
  const running = plan?.state === "running";
  useEffect(() => {
    if (!running) return;
    let over = false;
    const timer = setTimeout(() => api<Plan>(`/plans/${plan!.id}`).then((found) => { if (!over) setPlan(found); }, (error) => { failed(error); setFailures((n) => n + 1); }), 400);
    return () => { over = true; clearTimeout(timer); };
  }, [running, plan, failures]);
  const [newer, setNewer] = useState<Plan>();
  useEffect(() => {
    if (!plan || wanted.ids || plan.state === "done") return;
    let over = false, timer = 0;
    const look = () => api<Plan>(`/plans/${plan.id}?newer=true`).then((found) => { if (!over) { setNewer(found); timer = window.setTimeout(look, 5000); } }, () => {});
    timer = window.setTimeout(look, 500);
    return () => { over = true; clearTimeout(timer); };
  }, [plan?.id, plan?.state]);
  const run = (first: number | null) => { setChanged(true); api<Plan>(`/plans/${plan!.id}/run`, "POST", { first }).then(setPlan, failed); };
  const undo = () => api<Plan>(`/plans/${plan!.id}/undo`, "POST").then((made) => { setPlan(made); return api<Plan>(`/plans/${made.id}/run`, "POST", {}).then(setPlan); }).catch(failed);
  const left = plan ? plan.count - plan.done - plan.gone - plan.failed : 0;
  const done = plan?.state === "done";
  const title = (act: string) => act[0]!.toUpperCase() + act.slice(1);
  const word = title(plan?.act || wanted.act);
  const which = wanted.ids ? many(wanted.ids.length, "message") : wanted.filter ? "messages" : "all messages";
  return <Dialog title={`${word} ${which} of ${shortName(wanted.queue)}${!wanted.ids && wanted.filter ? " that match" : ""}`} onClose={() => props.onClose(changed)}>
    {!plan && wanted.act !== "restore" && <form onSubmit={(event) => { event.preventDefault(); freeze(); }}>
      {needsTarget && <label>To queue <input required {...first} value={target} onInput={(e) => setTarget(e.currentTarget.value)} placeholder="orders or DIRECT=OS:other\\private$\\orders" /></label>}
      {wanted.act === "delete" && isKept(wanted.queue) && <fieldset><legend>Deleted messages</legend>
        <label class="check"><input type="radio" name="where" checked={!forGood} onChange={() => setForGood(false)} />go to the trash of the queue for 24 hours, and can be restored</label>
        <label class="check"><input type="radio" name="where" checked={forGood} onChange={() => setForGood(true)} />are gone for good, at once</label></fieldset>}
      {removes && forGood && <p class="warn">! What is removed cannot be brought back. <a href={`/api/v1/managers/${encodeURIComponent(wanted.manager)}/queues/${encodeURIComponent(wanted.queue)}/export?${exportQuery(wanted)}`}>Export first</a></p>}
      {renews && <label>Lifetime of the new messages <select value={life} onChange={(e) => setLife(e.currentTarget.value)}>
        <option value="none">for ever</option><option value="keep">as before (what expired may expire again)</option>
        <option value="3600">one hour</option><option value="86400">one day</option></select></label>}
      {renews && <label>Messages a second, at most <input type="number" min="1" max="100000" placeholder="as fast as it can" value={rate} onInput={(e) => setRate(e.currentTarget.value)} /></label>}
      <label>{removes && forGood ? "Reason, for the audit log" : "Reason, for the audit log (may be empty)"} <input required={removes && forGood} {...(needsTarget ? {} : first)} maxLength={500} value={reason} onInput={(e) => setReason(e.currentTarget.value)} /></label>
      <div class="acts"><button type="button" onClick={() => props.onClose(false)}>Cancel</button><button class="main">Make a plan</button></div>
    </form>}
    {plan && <>
      <p><strong>{count(plan.count)}</strong> {plan.count === 1 ? "message" : "messages"}, frozen: what comes later is not in the plan.{newer?.id === plan.id && !!newer.newer && <span class="warn" role="status"> {newer.newer_complete ? "" : "At least "}{count(newer.newer)} {newer.newer === 1 ? "message has" : "messages have"} come since.</span>}</p>
      {plan.trash && <p>They wait in <code>{plain(plan.trash)}</code> for 24 hours.</p>}
      {plan.targets.some((one) => one.queue) && plan.act !== "restore" && <ul class="targets">{plan.targets.map((one) =>
        <li>{count(one.count)} to <code>{plain(one.queue)}</code></li>)}</ul>}
      <div class="bar" role="progressbar" aria-label="progress" aria-valuenow={plan.count - left} aria-valuemin={0} aria-valuemax={plan.count}>
        <div ref={(bar) => { if (bar) bar.style.width = `${plan.count ? (100 * (plan.count - left)) / plan.count : 0}%`; }} /></div>
      <p role="status">{plan.state}: {count(plan.done)} done{plan.gone ? `, ${count(plan.gone)} were gone` : ""}, {count(left)} left. {plain(plan.error)}</p>
      <Command request={{ method: "POST", path: "/plans", body: asked }}>{plan.command}</Command>
      <div class="acts">
        {running ? <button onClick={() => api<Plan>(`/plans/${plan.id}/stop`, "POST").then(setPlan, failed)}>Stop</button>
          : <button onClick={() => { if (done) say(`${word}: ${many(plan.done, "message")}`); props.onClose(changed); }}>{done ? "Close" : "Cancel"}</button>}
        {!running && !!plan.trash && !!plan.done && <button onClick={undo}>Undo</button>}
        {!running && !done && left > 10 && <button onClick={() => run(10)}>Try the first 10</button>}
        {!running && !done && <button class={removes ? "danger" : "main"} {...first} disabled={!left}
          onClick={() => run(null)}>{word} {count(left)}</button>}
      </div></>}
  </Dialog>;
}

/** The ends of a time axis: with one point, or none, uPlot would show a year. */
function atLeastAMinute(min: number | null, max: number | null): [number, number] {
  const now = Date.now() / 1000;
  const end = max !== null && Math.abs(max - now) < 86_400 ? max : now;
  return [Math.min(min !== null && min > end - 90_000 ? min : end, end - 60), end];
}

const clock = (seconds: number, exactly = false) => new Date(seconds * 1000).toLocaleTimeString("en-GB", exactly ? {} : { hour: "2-digit", minute: "2-digit" });
const short = (n: number) => n >= 1e6 ? `${+(n / 1e6).toPrecision(3)}M` : n >= 1e4 ? `${+(n / 1e3).toPrecision(3)}k` : String(+n.toPrecision(4));

/** A number over time, as a picture, and as a table for who cannot see it. */
export function Chart(props: { title: string; times: number[]; values: (number | null)[]; unit?: string; to?: string }) {
  const ref = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | null>(null);
  const [table, setTable] = useState(false);
  const { times, values } = props;
  const last = values[values.length - 1];
  useEffect(() => {
    const box = ref.current!;
    const ink = getComputedStyle(box).color, accent = getComputedStyle(box).getPropertyValue("--accent").trim() || "#2457c5";
    const axis = { stroke: ink, grid: { stroke: "rgba(128,128,128,.18)", width: 1 }, ticks: { show: false }, font: "11px system-ui" };
    plot.current = new uPlot({
      width: box.clientWidth || 300, height: 100, legend: { show: false }, cursor: { show: false }, padding: [8, 22, 0, 0],
      scales: { x: { range: (_u, min, max) => atLeastAMinute(min, max) }, y: { range: (_u, _min, max) => [0, Math.max(1, max * 1.15)] } },
      axes: [{ ...axis, size: 20, space: 64, values: (u, all) => all.map((one) => clock(one, (u.scales.x!.max ?? 0) - (u.scales.x!.min ?? 0) < 240)) }, { ...axis, size: 40, space: 30, values: (_u, all) => all.map(short) }],
      series: [{}, { stroke: accent, fill: accent + "22", width: 1.5, points: { show: (u) => u.data[0].length < 3 } }],
    }, [times, values] as uPlot.AlignedData, box);
    const observer = new ResizeObserver(() => plot.current?.setSize({ width: box.clientWidth, height: 100 }));
    observer.observe(box);
    return () => { observer.disconnect(); plot.current?.destroy(); };
  }, []);
  useEffect(() => { plot.current?.setSize({ width: ref.current!.clientWidth, height: 100 }); plot.current?.setData([times, values] as uPlot.AlignedData); }, [times.length, last, times[0]]);
  const now = last === null || last === undefined ? "–" : `${count(Math.round(last * 10) / 10)}${props.unit || ""}`;
  const known = values.filter((one): one is number => one !== null && one !== undefined);
  const peak = known.length ? `, at most ${count(Math.round(Math.max(...known) * 10) / 10)}${props.unit || ""}` : "";
  const step = Math.max(1, Math.ceil(times.length / 30));
  return <figure class="tile"><figcaption>{props.to ? <Link to={props.to}>{props.title}</Link> : props.title} <strong>{now}</strong></figcaption>
    <div ref={ref} class="plot" role="img" aria-label={`${props.title}: now ${now}${peak}`} />
    <button class="plain small" aria-expanded={table} onClick={() => setTable(!table)}>as a table</button>
    {table && <div class="scroll tall" tabIndex={0} role="region" aria-label={`${props.title} as a table`}><table><thead><tr><th>Time</th><th class="num">{props.title}{props.unit}</th></tr></thead><tbody>{times.map((at, n) => n % step ? null : <tr><td class="mono">{clock(at, true)}</td><td class="num">{values[n] ?? "–"}</td></tr>)}</tbody></table></div>}</figure>;
}

/** A small picture of how a number went. */
export function Spark(props: { values: number[]; title: string }) {
  const { values } = props;
  if (values.length < 2 || !values.some(Boolean)) return <span class="soft">–</span>;
  const top = Math.max(1, ...values), width = 76, height = 18;
  const at = (value: number, n: number) => `${((n * width) / (values.length - 1)).toFixed(1)},${(height - 1 - (value * (height - 2)) / top).toFixed(1)}`;
  return <svg class="spark" width={width} height={height} viewBox={`0 0 ${width} ${height}`} role="img" aria-label={`${props.title}: ${values[0]} before, ${values[values.length - 1]} now`}><polyline points={values.map(at).join(" ")} /></svg>;
}

/** How much of a quota is used. */
export function Quota(props: { bytes: number; quota: number | null }) {
  if (props.quota === null) return <span class="soft" title="no limit">–</span>;
  const part = Math.min(100, Math.round((100 * props.bytes) / 1024 / Math.max(1, props.quota)));
  return <meter class="quota" min={0} max={100} low={70} high={90} optimum={0} value={part} aria-label={`${part} % of the quota`} title={`${part} % of ${count(props.quota)} KiB`}>{part} %</meter>;
}

const SPANS: [string, string][] = [["15m", "15 min"], ["1h", "1 h"], ["24h", "24 h"]];
/** Which span of time is shown. */
export const Spans = (props: { span: string; onChange: (span: string) => void }) => <span class="choice" role="group" aria-label="Span of time">{SPANS.map(([span, title]) => <button aria-pressed={props.span === span} onClick={() => props.onChange(span)}>{title}</button>)}</span>;

type Kept = Record<string, string>;
const keptViews = (): Kept => { try { return JSON.parse(localStorage.getItem("views") || "{}") as Kept; } catch { return {}; } };

/** Named views of this browser: a page with what it is filtered by. */
export function Views(props: { at: string }) {
  const [views, setViews] = useState(keptViews);
  const [name, setName] = useState<string>();
  const keep = (next: Kept) => { localStorage.setItem("views", JSON.stringify(next)); setViews(next); };
  const current = Object.keys(views).find((one) => views[one] === props.at) || "";
  return <span class="views"><select aria-label="View" value={current} onChange={(e) => { const to = views[e.currentTarget.value]; if (to) go(to); }}><option value="">view …</option>{Object.keys(views).sort().map((one) => <option>{one}</option>)}</select>
    {current ? <button class="plain" onClick={() => { const { [current]: _, ...rest } = views; keep(rest); say(`forgot ${current}`); }}>forget view</button> : <button class="plain" onClick={() => setName("")}>save view…</button>}
    {name !== undefined && <Dialog title="Save this view" onClose={() => setName(undefined)}><form onSubmit={(e) => { e.preventDefault(); keep({ ...views, [name]: props.at }); say(`saved ${name}`); setName(undefined); }}><label>Name <input required maxLength={60} value={name} onInput={(e) => setName(e.currentTarget.value)} /></label><div class="acts"><button type="button" onClick={() => setName(undefined)}>Cancel</button><button class="main">Save</button></div></form></Dialog>}</span>;
}

export const Empty = (props: { children: ComponentChildren }) => <p class="empty">{props.children}</p>;
export const Facts = (props: { rows: [ComponentChildren, ComponentChildren][] }) =>
  <dl class="facts">{props.rows.map(([name, value]) => <div><dt>{name}</dt><dd>{value}</dd></div>)}</dl>;

export function Rows(props: { rows: Row[] }) {
  const columns = [...new Set(props.rows.flatMap((row) => Object.keys(row)))];
  const shown = (value: unknown) => value === null || value === undefined ? "" : typeof value === "object" ? JSON.stringify(value) : String(value);
  return <div class="scroll" tabIndex={0} role="region" aria-label="Table"><table><thead><tr>{columns.map((name) => <th class={props.rows.every((row) => typeof row[name] === "number") ? "num" : ""}>{name.replaceAll("_", " ")}</th>)}</tr></thead>
    <tbody>{props.rows.map((row) => <tr>{columns.map((name) => <td class={typeof row[name] === "number" ? "num" : "wrap"}>{plain(shown(row[name]))}</td>)}</tr>)}</tbody></table></div>;
}
