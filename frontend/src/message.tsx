// One message: its body, every property, and its life on all managers.
import { useState } from "preact/hooks";
import { api, pageOf, queuePath, type MessageDetails, type Story } from "./api";
import { hexDump, plain, pretty, shortName, size, time } from "./format";
import { Send } from "./messages";
import { go, manager, may } from "./state";
import { Facts, Head, Link, PlanDialog, useData, type Wanted } from "./ui";

const NEGATIVE = ["expired", "dead_lettered", "rejected", "refused", "aborted", "poisoned", "purged", "queue_deleted", "discarded"];

export function Body(props: { details: MessageDetails; base: string }) {
  const { body } = props.details;
  const [view, setView] = useState("auto");
  const shown = view === "hex" || body.text === null ? "hex" : view;
  return <><div class="tabs" role="group" aria-label="Views of the body">
    {["auto", "text", "hex"].map((one) => <button aria-pressed={shown === one} disabled={one !== "hex" && body.text === null} onClick={() => setView(one)}>{one === "auto" ? `auto: ${body.format}` : one}</button>)}
    <a href={`/api/v1${props.base}/body`} download="body">download</a> <a href={`/api/v1${props.base}/packet`} download="packet">packet</a></div>
    {body.reason && <p class="warn">{body.reason}</p>}
    {shown === "hex" ? <pre class="hex" tabIndex={0}>{hexDump(body.hex)}</pre> : <pre tabIndex={0}>{plain(shown === "text" ? body.text! : pretty(body.text!, body.format)) || "(empty)"}</pre>}
    {body.truncated && <p class="warn">Only the beginning of {size(body.size)} is shown; the download has all of it.</p>}</>;
}

export function Life(props: { id: string }) {
  const [story] = useData(() => api<Story>(`/explain?id=${encodeURIComponent(props.id)}`), [props.id]);
  if (!story) return <p class="soft">…</p>;
  let before = 0;
  return <><ol class="story">{story.events.map((one) => { const at = Date.parse(one.time); const gap = before ? (at - before) / 1000 : 0; before = at;
    const old = /(?:as|in place of) ([0-9a-f-]{36}\\\d+)/.exec(one.text)?.[1];
    return <>{gap >= 2 && <li class="gap" role="presentation">… {Math.round(gap)} s …</li>}<li class={NEGATIVE.includes(one.event) ? "negative" : ""}><span class="mono soft">{time(one.time)}</span> <strong>{one.manager}</strong> {plain(one.text)}{one.by && <span class="soft"> by {plain(one.by)}</span>} {old && <Link to={`/find?q=${encodeURIComponent(old)}`}>its story ›</Link>}</li></>; })}</ol>
    {!story.events.length && <p class="soft">Nothing is known of this message.</p>}
    <p class="soft">{Object.entries(story.asked).map(([name, how]) => how === "ok" ? `${name}: asked` : `${name}: ${how}, the story may be incomplete`).join("; ")}</p></>;
}

export function MessageScreen(props: { queue: string; lookup: string }) {
  const name = manager.value, base = `${queuePath(name, props.queue)}/messages/${props.lookup}`;
  const [details] = useData(() => api<MessageDetails>(base), [base]);
  const [wanted, setWanted] = useState<Wanted>();
  const [editing, setEditing] = useState(false);
  if (!details) return <Head title="Message" />;
  const { message } = details;
  const act = (what: string) => setWanted({ manager: name, queue: props.queue, act: what, ids: [props.lookup] });
  return <>
    <p class="soft"><Link to={pageOf(name, props.queue)}>{plain(shortName(props.queue))}</Link> / <code>{message.id}</code></p>
    <Head title={message.label || "(no label)"}>
      {may("send") && <button onClick={() => setEditing(true)} disabled={details.body.text === null}>Edit and send…</button>}
      {may("read") && ["return", "move", "copy", "delete"].map((one) => <button onClick={() => act(one)}>{one[0]!.toUpperCase() + one.slice(1)}…</button>)}</Head>
    {message.reason && <p class="bad">✕ {message.reason}</p>}
    <h2>Body</h2><Body details={details} base={base} />
    <h2>Life</h2><Life id={message.id} />
    <h2>Properties</h2><Facts rows={Object.entries(details.properties).map(([key, value]) => [key, value === null ? <span class="soft">none</span> : plain(String(value)) || <span class="soft">empty</span>])} />
    {wanted && <PlanDialog wanted={wanted} onClose={(changed) => { const left = changed && wanted.act !== "copy"; setWanted(undefined); if (left) go(pageOf(name, props.queue)); }} />}
    {editing && <Send base={queuePath(name, props.queue)} label={message.label} text={details.body.text || ""} onClose={() => setEditing(false)} />}
  </>;
}
