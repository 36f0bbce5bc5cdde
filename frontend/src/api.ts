// The REST API of the console, and what it answers.

export interface Session { who: string; role: string; read_only: boolean; managers: string[]; version: string }
export interface ManagerView {
  name: string; state: string; id: string; error: string; queues: number; messages: number; bytes: number;
  dead_letters: number; outgoing: number; free: number | null; rates: Record<string, number>; counts: Record<string, number>;
}
export interface Finding { level: "problem" | "warning"; kind: string; text: string; remedy: string; queue: string; silenced: string | null }
export interface QueueView {
  name: string; id: string; kind: string; state: string; transactional: boolean; journal: boolean; messages: number;
  bytes: number; journal_messages: number; delayed: number; oldest_age: number | null; quota: number | null; label: string;
  restricted: boolean; multicast: string; change: number | null; arriving: number | null; leaving: number | null; created: string; modified: string; format_name: string;
  readers: number | null; held: number | null; trend: number[]; journal_quota: number | null; abort_limit: number; retry_delay: number; poison: string; authenticate: boolean; privacy: number;
}
export interface MessageView {
  lookup_id: string; id: string; label: string; size: number; priority: number; message_class: number; reason: string;
  sent: string; arrived: string; destination: string; source: string; sender: string; transactional: boolean;
  recoverable: boolean; abort_count: number; preview: string; format: string; columns: string[]; move_count: number;
  app_specific: number; correlation_id: string; response_queue: string; time_to_be_received: number | null;
}
export interface MessagePage { messages: MessageView[]; looked_at: number; next: string | null }
export interface MessageDetails {
  message: MessageView;
  body: { format: string; text: string | null; hex: string; size: number; truncated: boolean; reason: string | null };
  properties: Record<string, unknown>;
  headers: Record<string, string>;
  bus: string;
}
export interface TreeNode { name: string; kind?: string; text?: string; path?: string; type?: string; children?: TreeNode[]; more?: boolean }
export interface Decoded {
  format: string; why: string; tree: TreeNode | null;
  fields: { path: string; offset: number; size: number; value: string; meaning: string }[];
}
export interface Story {
  id: string; asked: Record<string, string>; clocks: Record<string, number>;
  events: { time: string; manager: string; event: string; queue: string; text: string; by: string; lookup_id: string }[];
  readers: { time: string; manager: string; who: string; how: string; queue: string }[];
}
export interface LetterGroup {
  queue: string; reason: string; message_class: number; destination: string; labels: string; count: number;
  first: string; last: string; sample: string; filter: string; recent: number; sender: string; type: string; trend: number[]; hint: string; note: { text: string; who: string; time: string } | null;
}
export interface Plan {
  id: string; manager: string; queue: string; act: string; state: string; count: number; done: number; gone: number;
  failed: number; targets: { queue: string; count: number }[]; error: string; command: string; trash: string; newer: number | null; newer_complete: boolean;
}
export interface Outgoing { name: string; state: string; messages: number; unacknowledged: number; unprocessed: number; oldest_age: number | null;
  next_hop: string; failures: number; next_retry: number | null; last_error: string; attempts: { time: number; status: string; address: string }[] }
export interface Audit { number: number; time: string; who: string; act: string; target: string; allowed: boolean; reason: string; by: string }
export type Row = Record<string, unknown>;

export class ApiError extends Error {
  constructor(readonly status: number, message: string, readonly advice: string) { super(message); }
}

let touched = Date.now();
for (const kind of ["pointerdown", "pointermove", "keydown", "wheel"]) addEventListener(kind, () => { touched = Date.now(); }, { capture: true, passive: true });
/** What a page asks by itself while no one touches it does not keep the login alive. */
const idle = (): Record<string, string> => Date.now() - touched > 60_000 ? { "X-OpenMSMQ-Idle": "1" } : {};

export async function api<T>(path: string, method = "GET", body?: unknown, headers: Record<string, string> = {}): Promise<T> {
  const init: RequestInit = { method, headers: { "X-OpenMSMQ": "1", ...idle(), ...headers }, credentials: "same-origin" };
  if (body !== undefined) {
    init.body = JSON.stringify(body);
    init.headers = { ...init.headers, "Content-Type": "application/json" };
  }
  const answer = await fetch("/api/v1" + path, init);
  if (answer.status === 204) return undefined as T;
  const found = await answer.json().catch(() => ({}));
  if (!answer.ok) throw new ApiError(answer.status, found.detail || found.title || `HTTP ${answer.status}`, found.advice || "");
  return found as T;
}

/** Ask for something that has an ETag, with POST if there is a body; both. */
export async function apiWithTag<T>(path: string, body?: unknown): Promise<[T, string]> {
  const headers = { "X-OpenMSMQ": "1", "Content-Type": "application/json" };
  const asked: RequestInit = body === undefined ? {} : { method: "POST", body: JSON.stringify(body) };
  const answer = await fetch("/api/v1" + path, { headers, credentials: "same-origin", ...asked });
  const found = await answer.json().catch(() => ({}));
  if (!answer.ok) throw new ApiError(answer.status, found.detail || found.title || `HTTP ${answer.status}`, found.advice || "");
  return [found as T, answer.headers.get("ETag") || ""];
}

const part = encodeURIComponent;
export const managerPath = (manager: string) => `/managers/${part(manager)}`;
export const queuePath = (manager: string, queue: string) => `${managerPath(manager)}/queues/${part(queue)}`;
/** The page of a queue or a message; what is on its way elsewhere cannot be looked at, but why it waits. */
export const pageOf = (manager: string, queue: string, lookup = "") =>
  /^[A-Z]+=/i.test(queue) ? `/m/${part(manager)}/outgoing` : `/m/${part(manager)}/q/${part(queue)}${lookup && "/" + lookup}`;
