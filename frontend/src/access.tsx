// Who may do what, and what was done.
import { useState } from "preact/hooks";
import { api, managerPath, type Row } from "./api";
import { Tokens } from "./service";
import { manager, may, session } from "./state";
import { Empty, Facts, Head, Rows, useData } from "./ui";

export function AccessScreen() {
  const name = manager.value;
  const [after, setAfter] = useState(0);
  const [word, setWord] = useState("");
  const [rows] = useData(async () => { let all: Row[] = [], at = after; for (let n = 0; n < 20; n++) { const some = await api<Row[]>(`${managerPath(name)}/audit?after=${at}`); if (!some.length) break; all = [...all, ...some]; at = some[some.length - 1]!.number as number; } return all.reverse(); }, [name, after], 10);
  const shown = rows?.filter((row) => !word || JSON.stringify(row).toLowerCase().includes(word.toLowerCase())).slice(0, 500);
  return <><Head title={`Access to ${name}`} />
    <Facts rows={[["logged in as", session.value!.who], ["role", session.value!.role || "as the token says"], ["console", session.value!.read_only ? "read-only" : "may change things"]]} />
    {may("admin") && <Tokens name={name} />}
    <p class="soft">Permissions of a queue: <code>openmsmq queue permissions show orders</code>.</p>
    <h2>Audit log</h2><div class="filter"><input type="search" class="wide" aria-label="Search the audit log" placeholder="who, what, queue" value={word} onInput={(e) => setWord(e.currentTarget.value)} />{!!after && <button onClick={() => setAfter(0)}>from the beginning</button>}</div>
    {!may("admin") && !rows ? <Empty>The audit log is for administrators.</Empty> : shown && !shown.length ? <Empty>Nothing.</Empty> : shown && <Rows rows={shown} />}</>;
}
