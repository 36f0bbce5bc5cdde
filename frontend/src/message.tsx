// One message: its body, every property, and its life on all managers.
import { useState } from "preact/hooks";
import { api, pageOf, queuePath, type MessageDetails, type MessageView, type Story } from "./api";
import { Body } from "./body";
import { age, destination, exact, plain, shortName, time, title } from "./format";
import { isOurs, useKeys } from "./keys";
import { Send } from "./messages";
import { go, manager, managerOf, may } from "./state";
import { Command, copy, Facts, Head, Link, PlanDialog, useData, When, type Wanted } from "./ui";

const NEGATIVE = ["expired", "dead_lettered", "rejected", "refused", "aborted", "poisoned", "purged", "queue_deleted", "discarded"];
/** What some properties mean, for who does not know MSMQ by heart. */
const MEANINGS: Record<string, string> = {
  id: "the manager that it was sent from, and a number", sent_time: "by the clock of the sender", arrived_time: "by the clock of this manager", destination_queue: "the queue that it was sent to", sender_id: "who sent it, as a security identifier", signature_type: "0: it is not signed",
  transactional: "sent in a transaction: once, and in order", label: "what the sender calls it", dead_letter_queue: "where it goes if it fails, if that is a queue of the program", admin_queue: "where reports about it go", response_queue: "where answers are wanted", extension: "bytes of a service bus or another program",
  trace: "each manager on its way reports it", encrypt: "encrypted on its way between managers",
  priority: "7 is read first, 0 last; transactional messages have 0", message_class: "0 is a message of a program; others are acknowledgements and reports of managers",
  abort_count: "how often a transaction with it was aborted", move_count: "how often it was moved between subqueues", app_specific: "a number of the sending program",
  correlation_id: "the id of the message that this one answers", time_to_be_received: "seconds until it expires", time_to_reach_queue: "seconds in which it has to arrive",
  recoverable: "on disk before it is acknowledged", journal: "the sender keeps a copy", dead_letter: "if it fails, it becomes a dead letter", acknowledge: "which reports the sender asks for",
  lookup_id: "its place in the queue", arrival: "counts up with each message of the queue", body_type: "what the sender says that the body is", source_manager: "the manager that it was sent from",
};

/** What is known of clocks that do not agree. */
const clockWords = (story: Story) => Object.entries(story.clocks).map(([name, by]) => `The clock of ${name} is ${Math.abs(by)} s or more ${by < 0 ? "behind" : "ahead of"} that of the sender.`);
/** A life as text, for a ticket. */
const report = (story: Story) => [`Message ${story.id}`, ...story.events.map((one) => `${one.time}  ${one.manager}  ${one.text}${one.by ? ` by ${one.by}` : ""}`),
  ...story.readers.map((one) => `${one.time}  ${one.who || "someone"} ${one.how} (${one.queue}, ${one.manager})`),
  ...Object.entries(story.asked).map(([name, how]) => `${name}: ${how === "ok" ? "asked" : `could not be asked (${how}), the story may be incomplete`}`), ...clockWords(story)].join("\n");

export function Life(props: { id: string }) {
  const [story] = useData(() => api<Story>(`/explain?id=${encodeURIComponent(props.id)}`), [props.id]);
  if (!story) return <p class="soft">…</p>;
  let before = 0;
  return <><ol class="story">{story.events.map((one) => { const at = Date.parse(one.time); const gap = before ? (at - before) / 1000 : 0; before = at;
    const old = /(?:as|in place of) ([0-9a-f-]{36}\\\d+)/.exec(one.text)?.[1];
    return <>{gap >= 2 && <li class="gap" role="presentation">… {age(Math.round(gap))} …</li>}<li class={NEGATIVE.includes(one.event) ? "negative" : ""}><span class="mono soft" title={exact(one.time)}>{time(one.time)}</span> <strong>{one.manager}</strong> {plain(one.text)}{one.by && <span class="soft"> by {plain(one.by)}</span>} {old && <Link to={`/find?q=${encodeURIComponent(old)}`}>its story ›</Link>}</li></>; })}</ol>
    {clockWords(story).map((words) => <p class="warn">! {plain(words)} The order is the one in which things must have happened.</p>)}
    {!!story.events.length && <><h3>Who read it?</h3>{story.readers.length ? <ul class="readers">{story.readers.map((one) => <li><When class="mono soft" at={one.time} /> <strong>{plain(one.who) || "someone"}</strong> {plain(one.how)} <span class="soft">{plain(shortName(one.queue))}, {plain(one.manager)}</span></li>)}</ul> : <p class="soft">No one has taken it, as far as is known.</p>}</>}
    {!story.events.length && <p class="soft">Nothing is known of this message.</p>}
    {Object.entries(story.asked).some(([, how]) => how !== "ok") ? <p class="warn">! {Object.entries(story.asked).filter(([, how]) => how !== "ok").map(([name, how]) => `${name} could not be asked (${how})`).join("; ")}: the story may be incomplete.</p> : <p class="soft">As {Object.keys(story.asked).join(", ")} tell{Object.keys(story.asked).length === 1 ? "s" : ""} it.</p>}
    <div class="acts"><button onClick={() => copy(report(story))}>Copy as text</button></div><Command request={{ method: "GET", path: `/explain?id=${encodeURIComponent(props.id)}` }}>{`openmsmq explain '${props.id}'`}</Command></>;
}

/** Queues that nothing is sent to: what is edited there goes where it was for. */
const isLetter = (queue: string) => /\$$|;/.test(queue);

const failedIn = (headers: Record<string, string>) => { const found = /^([^@\\;/]+)@([\w.-]+)$/.exec(headers["NServiceBus.FailedQ"] || ""); return found ? `DIRECT=OS:${found[2]}\\private$\\${found[1]}` : ""; };

/** Messages that belong to this one, wherever they are: each a search. */
function Relatives(props: { message: MessageView; properties: Record<string, unknown> }) {
  const { message, properties } = props;
  const own = String(properties.correlation_id || ""), [guid, number] = message.id.split("\\");
  const bytes = guid!.replace(/-/g, "").replace(/^(..)(..)(..)(..)(..)(..)(..)(..)/, "$4$3$2$1$6$5$8$7") + (Number(number) >>> 0).toString(16).padStart(8, "0").replace(/(..)(..)(..)(..)/, "$4$3$2$1");
  const links: [string, string][] = [["answers, and reports of managers about it", `corr:${bytes}`], ["copies of it in journals and among dead letters", `id:"${message.id.replaceAll("\\", "\\\\")}"`]];
  if (/[1-9a-f]/.test(own)) links.push(["others with its correlation", `corr:${own}`]);
  return <ul class="relatives">{links.map(([words, filter]) => <li><Link to={`/find?q=${encodeURIComponent(filter)}`}>{words}</Link></li>)}{message.response_queue && <li>answers are wanted in <code>{plain(destination(message.response_queue))}</code></li>}</ul>;
}

export function MessageScreen(props: { queue: string; lookup: string }) {
  const name = manager.value, base = `${queuePath(name, props.queue)}/messages/${props.lookup}`;
  const [details] = useData(() => api<MessageDetails>(base), [base]);
  const [wanted, setWanted] = useState<Wanted>();
  const [editing, setEditing] = useState(false);
  const [explains, setExplains] = useState(false);
  const act = (what: string) => setWanted({ manager: name, queue: props.queue, act: what, ids: [props.lookup] });
  const acts = (props.queue.endsWith(";console-trash") ? ["restore", "delete"] : ["return", "move", "copy", "delete"]).filter((one) => one === "delete" || one === "restore" ? may("read") : may("read", "operate"));
  useKeys((event) => { const one = ({ r: "return", m: "move", c: "copy", Delete: "delete" } as Record<string, string>)[event.key]; if (one && acts.includes(one) && isOurs(event)) { event.preventDefault(); act(one); } });
  if (!details) return <Head title="Message" />;
  const { message } = details;
  return <>
    <Head title={message.label || "(no label)"} over={<><Link to={`/m/${encodeURIComponent(name)}/queues`}>{plain(name)}</Link> / <Link to={pageOf(name, props.queue)}>{plain(shortName(props.queue))}</Link> / <code>{message.id}</code></>}>
      <button onClick={() => copy(location.href)}>Copy link</button>
      {may("send") && <button onClick={() => setEditing(true)} disabled={details.body.text === null || details.body.truncated} title={details.body.truncated ? "too long to be edited here" : undefined}>Edit and send…</button>}
      {acts.map((one) => <button onClick={() => act(one)}>{title(one)}…</button>)}</Head>
    {message.reason && <p class="bad">✕ {title(message.reason)}</p>}
    <p class="soft">sent <When at={message.sent} /> to {plain(destination(message.destination))}, arrived <When at={message.arrived} /></p>
    <h2>Body</h2><Body details={details} base={base} onFilter={(text) => go(`${pageOf(name, props.queue)}?f=${encodeURIComponent(text)}`)} />
    <h2>Life</h2><Life id={message.id} />
    <h2>Relatives</h2><Relatives message={message} properties={details.properties} />
    <div class="head sub"><h2>Properties</h2><div class="acts"><label class="inline"><input type="checkbox" checked={explains} onChange={(e) => setExplains(e.currentTarget.checked)} />explain them</label></div></div><Facts rows={Object.entries(details.properties).map(([key, value]) => [<><span title={explains ? undefined : MEANINGS[key]} class={MEANINGS[key] && !explains ? "hint" : ""}>{key.replaceAll("_", " ")}</span>{explains && <div class="small">{MEANINGS[key]}</div>}</>, typeof value === "string" && key.endsWith("_time") && value ? <><When at={value} /> <span class="soft">{value}</span></> : key === "source_manager" && managerOf(String(value)) !== String(value).slice(0, 8) ? <>{plain(managerOf(String(value)))} <span class="soft mono">{String(value)}</span></> : key === "body_type" && /VT_\w+/.test(details.body.format) ? `${value}, ${/VT_\w+/.exec(details.body.format)![0]}` : key === "message_class" ? `${value}, ${message.reason || "a message of a program"}` : value === null ? <span class="soft">none</span> : key === "correlation_id" && /[1-9a-f]/.test(String(value)) ? <>{plain(String(value))} <Link to={`/find?q=${encodeURIComponent(`corr:${value}`)}`}>find ›</Link></> : plain(typeof value === "object" ? JSON.stringify(value) : String(value)) || <span class="soft">empty</span>])} />
    {wanted && <PlanDialog wanted={wanted} onClose={(changed) => { const left = changed && wanted.act !== "copy"; setWanted(undefined); if (left) go(pageOf(name, props.queue)); }} />}
    {editing && <Send manager={name} queue={failedIn(details.headers) || (isLetter(props.queue) ? message.destination : "") || props.queue} like={{ label: message.label, text: details.body.text || "", priority: message.priority, queue: props.queue, lookup_id: props.lookup }} onClose={() => setEditing(false)} />}
  </>;
}
