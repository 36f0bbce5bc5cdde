// A queue to be made or changed, as forms.
import { useEffect, useState } from "preact/hooks";
import { api, apiWithTag, managerPath, queuePath, type QueueView } from "./api";
import { plain, shortName } from "./format";
import { failed, manager, say } from "./state";
import { Command, Dialog, first } from "./ui";

type Value = string | number | boolean | null;
interface Field { key: keyof QueueView; title: string; kind: "text" | "number" | "check" | string[]; option: string; hint?: string }
const FIELDS: Field[] = [
  { key: "label", title: "Label", kind: "text", option: "--label" },
  { key: "journal", title: "journal: keep copies of what is received", kind: "check", option: "--journal" },
  { key: "quota", title: "Quota in KiB", kind: "number", option: "--quota", hint: "empty: no limit" },
  { key: "journal_quota", title: "Quota of the journal in KiB", kind: "number", option: "--journal-quota", hint: "empty: no limit" },
  { key: "abort_limit", title: "Aborts after which a message is poison", kind: "number", option: "--abort-limit", hint: "0: never" },
  { key: "retry_delay", title: "Seconds until an aborted message can be read again", kind: "number", option: "--retry-delay" },
  { key: "poison", title: "Poison messages go to", kind: ["subqueue", "dead-letter"], option: "--poison" },
  { key: "authenticate", title: "only signed messages are accepted", kind: "check", option: "--authenticate" },
  { key: "privacy", title: "Encryption", kind: ["0 not accepted", "1 as the sender likes", "2 needed"], option: "--privacy" },
];

export function QueueForm(props: { name: string; onClose: (changed: boolean) => void }) {
  const base = queuePath(manager.value, props.name);
  const [known, setKnown] = useState<[QueueView, string]>();
  const [given, setGiven] = useState<Record<string, Value>>({});
  useEffect(() => { apiWithTag<QueueView>(base).then(setKnown, (error) => { failed(error); props.onClose(false); }); }, []);
  if (!known) return null;
  const [queue, tag] = known;
  const now = (key: string) => (key in given ? given[key] : queue[key as keyof QueueView]) as Value;
  const change = (key: string, value: Value) => setGiven((old) => { const next = { ...old, [key]: value }; if (value === queue[key as keyof QueueView]) delete next[key]; return next; });
  const line = FIELDS.filter((one) => one.key in given).map((one) => one.kind === "check" ? (given[one.key] ? one.option : one.option.replace("--", "--no-")) : `${one.option} ${given[one.key] === null ? "none" : JSON.stringify(given[one.key])}`);
  const save = () => api(base, "PATCH", given, { "If-Match": tag }).then(() => { say(`changed ${shortName(queue.name)}`); props.onClose(true); }, failed);
  return <Dialog title={`Settings of ${plain(shortName(queue.name))}`} onClose={() => props.onClose(false)}><form onSubmit={(e) => { e.preventDefault(); save(); }}>
    {FIELDS.map((one, at) => { const value = now(one.key); return one.kind === "check" ? <label class="check"><input type="checkbox" checked={!!value} onChange={(e) => change(one.key, e.currentTarget.checked)} />{one.title}</label>
      : <label>{one.title} {Array.isArray(one.kind) ? <select value={String(value)} onChange={(e) => change(one.key, one.key === "privacy" ? Number(e.currentTarget.value) : e.currentTarget.value)}>{one.kind.map((word) => <option value={one.key === "privacy" ? word[0] : word}>{word}</option>)}</select>
        : <input {...(at === 0 ? first : {})} type={one.kind} min="0" placeholder={one.hint} maxLength={124} value={value === null ? "" : String(value)} onInput={(e) => { const text = e.currentTarget.value; change(one.key, one.kind === "text" ? text : text === "" ? (one.hint?.startsWith("empty") ? null : 0) : Number(text)); }} />}</label>; })}
    {!!line.length && <Command request={{ method: "PATCH", path: base, body: given, headers: { "If-Match": tag } }}>{`openmsmq queue set ${shortName(queue.name)} ${line.join(" ")}`}</Command>}
    <div class="acts"><button type="button" onClick={() => props.onClose(false)}>Cancel</button><button class="main" disabled={!Object.keys(given).length}>Save</button></div></form></Dialog>;
}

export function NewQueue(props: { onClose: (made: boolean) => void }) {
  const [name, setName] = useState("");
  const [label, setLabel] = useState("");
  const [transactional, setTransactional] = useState(false);
  const [journal, setJournal] = useState(false);
  const make = () => api(`${managerPath(manager.value)}/queues`, "POST", { name, label, transactional, journal }).then(() => { say(`created ${name}`); props.onClose(true); }, failed);
  return <Dialog title="New queue" onClose={() => props.onClose(false)}><form onSubmit={(e) => { e.preventDefault(); make(); }}>
    <label>Name <input required {...first} value={name} onInput={(e) => setName(e.currentTarget.value)} placeholder="orders" /></label>
    <label>Label <input value={label} onInput={(e) => setLabel(e.currentTarget.value)} /></label>
    <label class="check"><input type="checkbox" checked={transactional} onChange={(e) => setTransactional(e.currentTarget.checked)} />transactional: exactly once and in order</label>
    <label class="check"><input type="checkbox" checked={journal} onChange={(e) => setJournal(e.currentTarget.checked)} />journal: keep copies of what is received</label>
    <Command request={{ method: "POST", path: `${managerPath(manager.value)}/queues`, body: { name, label, transactional, journal } }}>{`openmsmq queue create ${name || "NAME"}${transactional ? " --transactional" : ""}${journal ? " --journal" : ""}${label ? ` --label ${JSON.stringify(label)}` : ""}`}</Command>
    <div class="acts"><button type="button" onClick={() => props.onClose(false)}>Cancel</button><button class="main">Create</button></div></form></Dialog>;
}
