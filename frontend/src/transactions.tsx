// Transactions that wait for their outcome.
import { useState } from "preact/hooks";
import { api, managerPath, type Row } from "./api";
import { age, plain, title } from "./format";
import { failed, manager, may, say } from "./state";
import { Command, Dialog, Empty, first, Head, Rows, useData } from "./ui";

export function Transactions() {
  const name = manager.value, base = `${managerPath(name)}/transactions`;
  const [found, again] = useData(() => api<{ prepared: Record<string, number>; units: Row[] }>(base), [name], 5);
  const [ending, setEnding] = useState<[string, string]>();
  const [typed, setTyped] = useState("");
  const rows = Object.entries(found?.prepared || {});
  return <><Head title={`Transactions of ${name}`} />
    <h2>Prepared, waiting for their outcome</h2>
    {found && !rows.length && <Empty>✓ No transaction waits for its outcome.</Empty>}
    {!!rows.length && <div class="scroll" tabIndex={0} role="region" aria-label="Prepared transactions"><table><thead><tr><th>Name</th><th class="num">Waits for</th><th><span class="soft">Acts</span></th></tr></thead><tbody>{rows.map(([xid, seconds]) => <tr><td class="wrap mono">{plain(xid)}</td><td class="num">{age(seconds)}</td><td class="acts">{may("admin") && ["commit", "abort"].map((one) => <button onClick={() => { setTyped(""); setEnding([xid, one]); }}>{one}…</button>)}</td></tr>)}</tbody></table></div>}
    <h2>Units that others have not confirmed</h2>{found?.units.length ? <><Rows rows={found.units} />{may("admin") && <div class="acts">{found.units.map((one) => <button onClick={() => { setTyped(""); setEnding([String(one.name), "forget"]); }}>forget {String(one.name).slice(-8)}…</button>)}</div>}</> : found && <Empty>✓ All units are confirmed.</Empty>}
    {ending && <Dialog title={`${title(ending[1])} ${ending[0]}?`} onClose={() => setEnding(undefined)}><p>This is final. {ending[1] === "forget" ? "A participant that still has a part in the unit would abort it from then on." : "If a coordinator has decided otherwise, its partners disagree for ever."} Type the name to confirm.</p>
      <label>Name <input {...first} value={typed} onInput={(e) => setTyped(e.currentTarget.value)} /></label>
      <Command request={{ method: "POST", path: `${base}/${encodeURIComponent(ending[0])}/${ending[1]}?confirm=${encodeURIComponent(ending[0])}` }}>{`openmsmq transaction ${ending[1]} ${ending[0]}`}</Command>
      <div class="acts"><button onClick={() => setEnding(undefined)}>Cancel</button><button class="danger" disabled={typed !== ending[0]} onClick={() => api(`${base}/${encodeURIComponent(ending[0])}/${ending[1]}?confirm=${encodeURIComponent(ending[0])}`, "POST").then(() => { say(`${ending[1]}: ${ending[0]}`); setEnding(undefined); again(); }, failed)}>{ending[1]}</button></div></Dialog>}</>;
}
