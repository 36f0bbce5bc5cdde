// What all screens share: who is logged in, where we are, what is live.
import { signal, computed } from "@preact/signals";
import { api, ApiError, type Session } from "./api";

export const session = signal<Session | null | undefined>(undefined);
export const place = signal(location.pathname + location.search);
export const notice = signal<{ text: string; bad: boolean } | null>(null);
export const liveSince = signal<number | null>(null);
/** When the numbers were heard last, if that was before the connection was lost. */
export const lostAt = signal<number | null>(null);
const lost = () => { if (liveSince.value) lostAt.value = liveSince.value; liveSince.value = null; };
export const total = signal<Record<string, number>>({});
export const live = signal<Record<string, [number, number, number | null, string, number | null, number | null, number | null]>>({});
export const chosen = signal("");
/** Managers of this console by their ids, in small letters. */
export const namesById = signal<Record<string, string>>({});
/** What a manager is called, or how its id begins. */
export const managerOf = (id: string) => namesById.value[id.toLowerCase()] || id.slice(0, 8);

export const path = computed(() => place.value.split("?")[0] || "/");
export const query = computed(() => new URLSearchParams(place.value.split("?")[1] || ""));
export const parts = computed(() => path.value.split("/").filter(Boolean).map(decodeURIComponent));
export const manager = computed(() =>
  (parts.value[0] === "m" && parts.value[1]) || chosen.value || session.value?.managers[0] || "");
export const mayWrite = computed(() => !!session.value && !session.value.read_only);
/** Whether who is logged in has one of some rights, as far as the page knows. */
export const may = (...rights: string[]) =>
  mayWrite.value && (session.value!.role === "" || session.value!.role.split("+").some((one) => one === "admin" || rights.includes(one)));

export function go(to: string, replace = false) {
  if (replace) history.replaceState(null, "", to); else history.pushState(null, "", to);
  place.value = to;
  scrollTo(0, 0);
}
addEventListener("popstate", () => { place.value = location.pathname + location.search; });

let clearing = 0;
export function say(text: string, bad = false) {
  notice.value = { text, bad };
  clearTimeout(clearing);
  clearing = window.setTimeout(() => { notice.value = null; }, bad ? 12000 : 5000);
}

export function failed(error: unknown) {
  if (error instanceof ApiError && error.status === 401) { session.value = null; return; }
  const advice = error instanceof ApiError && error.advice ? `. ${error.advice}` : "";
  if (error instanceof TypeError) { say("The console cannot be reached: is its service running, and the network up?", true); return; }
  say((error instanceof Error ? error.message : String(error)) + advice, true);
}

export async function start() {
  try {
    if (location.pathname === "/login" && location.hash.length > 1) {
      const code = location.hash.slice(1);
      history.replaceState(null, "", "/");
      place.value = "/";
      session.value = await api<Session>("/session", "POST", { code });
      return;
    }
    session.value = await api<Session>("/session");
  } catch (error) {
    session.value = null;
    if (!(error instanceof ApiError && error.message === "no one is logged in")) failed(error);
    if (error instanceof ApiError && error.status === 401 && error.advice.startsWith("`")) say(`${error.message}. ${error.advice}`, true);
  }
}

let source: EventSource | null = null;
let listening = "";
export function listen(name: string) {
  if (listening === name && source) return;
  source?.close();
  listening = name;
  live.value = {};
  total.value = {};
  source = new EventSource(`/api/v1/events?manager=${encodeURIComponent(name)}`);
  const take = (event: MessageEvent) => {
    const found = JSON.parse(event.data);
    if (found.kind === "away") { lost(); return; }
    const next = found.kind === "all" ? {} : { ...live.value };
    for (const gone of found.gone || []) delete next[gone];
    live.value = Object.assign(next, found.queues);
    total.value = found.total;
    liveSince.value = Date.now();
  };
  for (const kind of ["all", "change", "away"]) source.addEventListener(kind, take);
  source.onerror = lost;
}
export function silence() { source?.close(); source = null; listening = ""; }
