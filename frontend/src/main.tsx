// The shell: who is logged in, where one can go, and what is shown there.
import { render } from "preact";
import { useEffect, useState } from "preact/hooks";
import { api, type ManagerView, type Session } from "./api";
import { count, plain, time } from "./format";
import { Help, helping, isOurs } from "./keys";
import { Overview } from "./overview";
import { chosen, failed, go, listen, liveSince, lostAt, manager, namesById, notice, parts, path, session, silence, start, total } from "./state";
import { Empty, Head, Link, useData } from "./ui";

const PLACES: [string, string, string][] = [["o", "Overview", "/"], ["q", "Queues", "queues"], ["d", "Dead letters", "letters"], ["u", "Outgoing", "outgoing"], ["m", "Map", "map"], ["i", "Find", "/find"], ["t", "Transactions", "transactions"], ["p", "Pipelines", "pipelines"], ["a", "Access", "access"], ["s", "Settings", "settings"]];
const to = (where: string) => where.startsWith("/") ? where : `/m/${encodeURIComponent(manager.value)}/${where}`;

type Shown = (props: { queue: string; lookup: string }) => preact.JSX.Element;
/** Screens other than the first are fetched when someone goes there. */
const SCREENS: Record<string, () => Promise<Shown>> = {
  find: async () => (await import("./find")).Find, queues: async () => (await import("./queues")).Queues, letters: async () => (await import("./letters")).DeadLetters,
  access_of: async () => (await import("./inspect")).QueueAccess, history: async () => (await import("./inspect")).QueueHistory, session: async () => (await import("./session")).SessionScreen,
  messages: async () => (await import("./messages")).Messages, message: async () => (await import("./message")).MessageScreen, compare: async () => (await import("./compare")).Compare,
  outgoing: async () => (await import("./outgoing")).OutgoingScreen, map: async () => (await import("./map")).MapScreen, transactions: async () => (await import("./transactions")).Transactions,
  pipelines: async () => (await import("./pipelines")).Pipelines, access: async () => (await import("./access")).AccessScreen, settings: async () => (await import("./settings")).SettingsScreen,
};
/** Parts of the page of a queue that are no messages. */
const PARTS: Record<string, string> = { compare: "compare", access: "access_of", history: "history" };
const fetched: Record<string, Shown> = {};

/** An address that leads nowhere. */
const Lost = (props: { words: string }) => <><Head title="Not found" /><Empty>{plain(props.words)} <Link to="/">Go to the overview</Link></Empty></>;

function Screen() {
  const [first, , what, queue = "", lookup = ""] = parts.value;
  const word = first === "find" ? "find" : first !== "m" ? "" : what === "q" && queue ? (PARTS[lookup] || (lookup ? "message" : "messages")) : what && what in SCREENS ? what : what ? "nothing" : "queues";
  const known = session.value!.managers, isAway = first === "m" && !known.includes(parts.value[1] || "");
  const [, setTurn] = useState(0);
  useEffect(() => { if (word in SCREENS && !fetched[word]) SCREENS[word]!().then((found) => { fetched[word] = found; setTurn((n) => n + 1); }, failed); }, [word]);
  if (isAway) return <Lost words={`There is no manager ${parts.value[1] || ""} in this console.`} />;
  if (word === "nothing" || (!word && first)) return <Lost words="There is nothing at this address." />;
  if (!word) return <Overview />;
  const Found = fetched[word];
  return Found ? <Found queue={queue} lookup={lookup} key={`${word} ${manager.value} ${queue} ${lookup}`} /> : <p class="soft">…</p>;
}

function theme() {
  const root = document.documentElement;
  const dark = root.classList.contains("dark") || (!root.classList.contains("light") && matchMedia("(prefers-color-scheme: dark)").matches);
  root.classList.remove("dark", "light");
  root.classList.add(dark ? "light" : "dark");
  localStorage.setItem("theme", dark ? "light" : "dark");
}

function Shell() {
  const me = session.value!;
  const [wants, setWants] = useState("");
  const [menu, setMenu] = useState(false);
  const [all] = useData(() => api<ManagerView[]>("/managers").then((found) => { namesById.value = Object.fromEntries(found.map((one) => [one.id.toLowerCase(), one.name])); return found; }), [], me.managers.length > 1 ? 15 : 0);
  useEffect(() => { if (me.managers.includes(manager.value)) listen(manager.value); }, [manager.value]);
  useEffect(() => {
    let leader = 0;
    const keys = (event: KeyboardEvent) => {
      if (!isOurs(event)) return;
      if (event.key === "?") { event.preventDefault(); helping.value = true; }
      else if (event.key === "/") { event.preventDefault(); document.getElementById("find")?.focus(); }
      else if (event.key === "g") leader = Date.now();
      else if (Date.now() - leader < 1500) { const found = PLACES.find(([key]) => key === event.key); if (found) { leader = 0; event.preventDefault(); event.stopPropagation(); go(to(found[2])); } }
    };
    addEventListener("keydown", keys, true);
    return () => removeEventListener("keydown", keys, true);
  }, []);
  const others = (all || []).filter((one) => one.name !== manager.value).reduce((sum, one) => sum + one.dead_letters, 0);
  const letters = (total.value.dead_letters || 0) + others;
  const current = path.value === "/" ? "/" : parts.value[0] === "find" ? "/find" : parts.value[2] === "q" ? "queues" : parts.value[2] === "session" ? "outgoing" : parts.value[2];
  return <div class="shell"><a class="skip" href="#main">Skip to content</a>
    <header class="top"><Link class="brand" to="/"><img src="/assets/icon.svg" alt="" />OpenMSMQ</Link>
      {me.managers.length > 1 && <select aria-label="Manager" value={manager.value} onChange={(e) => { chosen.value = e.currentTarget.value; go(parts.value[0] === "m" && parts.value[2] !== "q" ? `/m/${encodeURIComponent(e.currentTarget.value)}/${parts.value[2]}` : `/m/${encodeURIComponent(e.currentTarget.value)}/queues`); }}>{me.managers.map((name) => <option>{name}</option>)}</select>}
      <form role="search" onSubmit={(e) => { e.preventDefault(); go(`/find?q=${encodeURIComponent(wants)}`); }}><input id="find" type="search" aria-label="Find anywhere" placeholder="/  find id, label, queue …" value={wants} onInput={(e) => setWants(e.currentTarget.value)} /></form>
      <div class="end"><span class={"live" + (liveSince.value ? "" : " off")} role="status">{liveSince.value ? "live" : lostAt.value ? `not live since ${time(new Date(lostAt.value).toISOString())}` : "not live"}</span>{me.read_only && <strong class="warn">read-only</strong>}<span class="who">{plain(me.who)}</span>
        <button class="plain keyed" onClick={() => { helping.value = true; }}>Keys</button><button class="plain" onClick={theme}>Light/dark</button><button class="plain" onClick={() => api("/session", "DELETE").then(() => { silence(); session.value = null; }, failed)}>Log out</button></div></header>
    <nav aria-label="Screens" class={menu ? "open" : ""}><button class="menu" aria-expanded={menu} onClick={() => setMenu(!menu)}>☰ {PLACES.find(([, , where]) => where === current)?.[1] || "Menu"}</button><ul onClick={() => setMenu(false)}>{PLACES.map(([key, title, where]) => <li><Link to={to(where)} current={current === where} title={`g ${key}`}>{title}{where === "letters" && letters > 0 && <span class="badge">{count(letters)}</span>}</Link></li>)}</ul></nav>
    <main id="main" tabIndex={-1} class={!liveSince.value && lostAt.value ? "stale" : ""}><Screen /></main>{helping.value && <Help />}</div>;
}

function Login() {
  const [token, setToken] = useState("");
  return <main class="login"><h1>OpenMSMQ</h1><p>Log in with a token, or open the link that <code>openmsmq console login --data DIR</code> prints.</p>
    <form onSubmit={(e) => { e.preventDefault(); api<Session>("/session", "POST", { token: token.trim() }).then((me) => { session.value = me; }, (error) => { failedLogin(error); }); }}>
      <label>Token <input type="password" autocomplete="off" autofocus value={token} onInput={(e) => setToken(e.currentTarget.value)} /></label><button class="main">Log in</button></form></main>;
}
const failedLogin = (error: unknown) => { failed(error); if (error instanceof Error) notice.value = { text: error.message, bad: true }; };

function App() {
  return <>{session.value === undefined ? null : session.value ? <Shell /> : <Login />}
    <div role="alert">{notice.value && <div class={"notice" + (notice.value.bad ? " bad" : "")}>{plain(notice.value.text)}</div>}</div></>;
}

const kept = localStorage.getItem("theme");
if (kept) document.documentElement.classList.add(kept);
start();
render(<App />, document.getElementById("app")!);
