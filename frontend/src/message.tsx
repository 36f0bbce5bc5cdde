// One message: its body, every property, and its life on all managers.
import { useState } from "preact/hooks";
import { api, pageOf, queuePath, type MessageDetails, type Story } from "./api";
import { hexDump, plain, pretty, shortName, size, time } from "./format";
import { isOurs, useKeys } from "./keys";
import { Send } from "./messages";
import { go, manager, may } from "./state";
import { Facts, Head, Link, PlanDialog, useData, type Wanted } from "./ui";

const NEGATIVE = ["expired", "dead_lettered", "rejected", "refused", "aborted", "poisoned", "purged", "queue_deleted", "discarded"];

export function Body(props: { details: MessageDetails; base: string }) {
  const { body, headers, bus } = props.details;
  const [view, setView] = useState("auto");
  const hasHeaders = Object.keys(headers).length > 0;
  const views = ["auto", "text", "hex", ...(hasHeaders ? ["headers"] : [])];
  const shown = view !== "headers" && (view === "hex" || body.text === null) ? "hex" : view;
  const canShow = (one: string) => one === "hex" || one === "headers" || body.text !== null;
  useKeys((event) => { const one = views[Number(event.key) - 1]; if (one && isOurs(event) && canShow(one)) { event.preventDefault(); setView(one); } });
  return <><div class="tabs" role="group" aria-label="Views of the body">
    {views.map((one) => <button aria-pressed={shown === one} disabled={!canShow(one)} onClick={() => setView(one)}>{one === "auto" ? `auto: ${body.format}` : one === "headers" ? `headers of ${bus === "rebus" ? "Rebus" : "NServiceBus"}` : one}</button>)}
    <span class="more">download <a href={`/api/v1${props.base}/body`} download="body">body</a> <a href={`/api/v1${props.base}/packet`} download="packet">packet</a></span></div>
    {body.reason && <p class="warn">{body.reason}</p>}
    {shown === "headers" ? <div class="scroll" tabIndex={0} role="region" aria-label="Headers"><table><thead><tr><th>Header</th><th>Value</th></tr></thead><tbody>{Object.entries(headers).map(([key, value]) => <tr><td class="name">{plain(key)}</td><td class="wrap mono">{plain(value)} {/(Id|CorrelationId|ConversationId|FailedQ|msg-id|corr-id)$/.test(key) && <Link to={`/find?q=${encodeURIComponent(`header.${key}:"${value}"`)}`}>find ›</Link>}</td></tr>)}</tbody></table></div> : shown === "hex" ? <pre class="hex" tabIndex={0}>{hexDump(body.hex)}</pre> : <pre tabIndex={0}>{plain(shown === "text" ? body.text! : pretty(body.text!, body.format)) || "(empty)"}</pre>}
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
    {Object.entries(story.asked).some(([, how]) => how !== "ok") ? <p class="warn">! {Object.entries(story.asked).filter(([, how]) => how !== "ok").map(([name, how]) => `${name} could not be asked (${how})`).join("; ")}: the story may be incomplete.</p> : <p class="soft">As {Object.keys(story.asked).join(", ")} tell{Object.keys(story.asked).length === 1 ? "s" : ""} it.</p>}</>;
}

export function MessageScreen(props: { queue: string; lookup: string }) {
  const name = manager.value, base = `${queuePath(name, props.queue)}/messages/${props.lookup}`;
  const [details] = useData(() => api<MessageDetails>(base), [base]);
  const [wanted, setWanted] = useState<Wanted>();
  const [editing, setEditing] = useState(false);
  const act = (what: string) => setWanted({ manager: name, queue: props.queue, act: what, ids: [props.lookup] });
  const acts = (props.queue.endsWith(";console-trash") ? ["restore", "delete"] : ["return", "move", "copy", "delete"]).filter((one) => one === "delete" || one === "restore" ? may("read") : may("read", "operate"));
  useKeys((event) => { const one = ({ r: "return", m: "move", c: "copy", Delete: "delete" } as Record<string, string>)[event.key]; if (one && acts.includes(one) && isOurs(event)) { event.preventDefault(); act(one); } });
  if (!details) return <Head title="Message" />;
  const { message } = details;
  return <>
    <p class="soft"><Link to={pageOf(name, props.queue)}>{plain(shortName(props.queue))}</Link> / <code>{message.id}</code></p>
    <Head title={message.label || "(no label)"}>
      {may("send") && <button onClick={() => setEditing(true)} disabled={details.body.text === null}>Edit and send…</button>}
      {acts.map((one) => <button onClick={() => act(one)}>{one[0]!.toUpperCase() + one.slice(1)}…</button>)}</Head>
    {message.reason && <p class="bad">✕ {message.reason}</p>}
    <h2>Body</h2><Body details={details} base={base} />
    <h2>Life</h2><Life id={message.id} />
    <h2>Properties</h2><Facts rows={Object.entries(details.properties).map(([key, value]) => [key.replaceAll("_", " "), value === null ? <span class="soft">none</span> : plain(String(value)) || <span class="soft">empty</span>])} />
    {wanted && <PlanDialog wanted={wanted} onClose={(changed) => { const left = changed && wanted.act !== "copy"; setWanted(undefined); if (left) go(pageOf(name, props.queue)); }} />}
    {editing && <Send base={queuePath(name, props.queue)} label={message.label} text={details.body.text || ""} onClose={() => setEditing(false)} />}
  </>;
}
