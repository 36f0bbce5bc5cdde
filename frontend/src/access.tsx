// Who may do what, and what was done.
import { useState } from "preact/hooks";
import { api, managerPath, type Audit } from "./api";
import { count, many, plain, shortName } from "./format";
import { RIGHTS, Tokens, type Token } from "./service";
import { failed, manager, may, session } from "./state";
import { Command, Empty, Facts, Head, useData, When } from "./ui";


/** Whether a token gives a right. */
function Check(props: { name: string }) {
  const [tokens] = useData(() => api<Token[]>(`${managerPath(props.name)}/tokens`), [props.name]);
  const [token, setToken] = useState("");
  const [right, setRight] = useState("peek");
  const [queue, setQueue] = useState("");
  const [answer, setAnswer] = useState<{ token: string; right: string; queue: string; allowed: boolean }>();
  if (!tokens?.length) return null;
  const ask = () => api<typeof answer>(`${managerPath(props.name)}/access-check?${new URLSearchParams({ token: token || tokens[0]!.id, right, queue })}`).then(setAnswer, failed);
  return <><h2>Who may do what</h2><form class="filter" onSubmit={(e) => { e.preventDefault(); ask(); }}>
    <label>May <select value={token} onChange={(e) => setToken(e.currentTarget.value)}>{tokens.map((one) => <option value={one.id}>{plain(one.label) || one.id}</option>)}</select></label>
    <select aria-label="Right" value={right} onChange={(e) => setRight(e.currentTarget.value)}>{RIGHTS.map((one) => <option>{one}</option>)}</select>
    <label>in queue <input value={queue} placeholder="the manager itself" onInput={(e) => setQueue(e.currentTarget.value)} /></label><button>Ask</button>
    <span role="status">{answer && <strong class={answer.allowed ? "good" : "bad"}>{answer.allowed ? "✓ yes" : "✕ no"}</strong>}</span></form>
    <p class="soft">Permissions of a queue may deny what a token gives: <code>openmsmq queue permissions show orders</code>.</p></>;
}

export function AccessScreen() {
  const name = manager.value;
  const [pages, setPages] = useState(1);
  const [word, setWord] = useState("");
  const [rows] = useData(async () => { let all: Audit[] = [], ask = "newest=true"; for (let n = 0; n < pages; n++) { const some = await api<Audit[]>(`${managerPath(name)}/audit?${ask}`); if (!some.length) break; all = [...all, ...some.reverse()]; ask = `before=${all[all.length - 1]!.number}`; } return all; }, [name, pages], pages > 2 ? 0 : 10);
  const isAll = !rows || rows.length < 250 * pages;
  const shown = rows?.filter((row) => !word || JSON.stringify(row).toLowerCase().includes(word.toLowerCase()));
  return <><Head title={`Access to ${name}`} />
    <Facts rows={[["logged in as", session.value!.who], ["role", session.value!.role || "as the token says"], ["console", session.value!.read_only ? "read-only" : "may change things"]]} />
    {may("admin") && <><Tokens name={name} /><Check name={name} /></>}
    <h2>Audit log</h2><div class="filter"><input type="search" class="wide" aria-label="Search the audit log" placeholder="who, what, queue" value={word} onInput={(e) => setWord(e.currentTarget.value)} /><span class="soft">{rows && (word ? `${count(shown!.length)} of ${isAll ? "all" : "the last"} ${count(rows.length)}` : `${isAll ? "all" : "the last"} ${many(rows.length, "entry", "entries")}`)}</span>{!isAll && <button onClick={() => setPages(pages * 2)}>Older…</button>}</div>
    {!may("admin") && !rows ? <Empty>The audit log is for administrators.</Empty> : shown && !shown.length ? <Empty>Nothing.</Empty> : shown && <div class="scroll" tabIndex={0} role="region" aria-label="Audit log"><table><thead><tr><th>Time</th><th>Who</th><th>Act</th><th>On</th><th>Outcome</th><th>Details</th><th>Program</th></tr></thead><tbody>{shown.map((row) =>
      <tr><td><When class="mono" at={row.time} /></td><td class="wrap">{plain(row.who)}</td><td>{plain(row.act)}</td><td class="wrap" title={plain(row.target)}>{plain(shortName(row.target))}</td><td class={row.allowed ? "" : "bad"}>{row.allowed ? "done" : "✕ denied"}</td><td class="wrap">{plain(row.reason)}</td><td class="wrap soft">{plain(row.by)}</td></tr>)}</tbody></table></div>}
    {may("admin") && <Command request={{ method: "GET", path: `${managerPath(name)}/audit?newest=true` }}>openmsmq audit --export audit.jsonl</Command>}</>;
}
