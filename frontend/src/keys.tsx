// What keys do, on all screens; single letters can be switched off.
import { signal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { Dialog, first } from "./ui";

export const helping = signal(false);
export const letters = signal(localStorage.getItem("keys") !== "off");

/** Whether a key is for the page, and not for a field, a dialog or the browser. */
export function isOurs(event: KeyboardEvent): boolean {
  const target = event.target as HTMLElement;
  const writes = target.matches("input, textarea, select") && (target as HTMLInputElement).type !== "checkbox";
  return !writes && !event.ctrlKey && !event.metaKey && !event.altKey && !document.querySelector("dialog[open]") && (letters.value || event.key.length > 1);
}

/** Takes keys wherever the focus is; `isOurs` tells those of fields and dialogs apart. */
export function useKeys(take: (event: KeyboardEvent) => void) {
  const latest = useRef(take);
  latest.current = take;  // at once, not after the next frame: keys come faster than that
  useEffect(() => { const hear = (event: KeyboardEvent) => latest.current(event); addEventListener("keydown", hear); return () => removeEventListener("keydown", hear); }, []);
}

const GROUPS: [string, [string, string][]][] = [
  ["Everywhere", [["/", "find a message, label or queue"], ["?", "this help"], ["g o", "overview"], ["g q", "queues"], ["g d", "dead letters"], ["g u", "outgoing"], ["g m", "map"], ["g i", "find"], ["g t", "transactions"], ["g p", "pipelines"], ["g a", "access"], ["g s", "settings"]]],
  ["Messages of a queue", [["j k ↓ ↑", "next, previous"], ["← →", "cells of the row"], ["Home End", "first, last; in the table, of the row (Ctrl: of all)"], ["Enter", "open"], ["x Space", "choose"], ["Shift+X", "choose all from the last chosen one to here"], ["Ctrl+A", "choose all that match, on all pages"], ["Esc", "choose none"], ["n p", "next page, previous page"], ["f", "filter"], ["Shift+T", "go to a time"], ["t", "follow what arrives"], ["e", "export"], ["r", "return to source"], ["m", "move"], ["c", "copy"], ["Del", "delete"]]],
  ["A message", [["1 2 3 …", "views of the body"], ["r m c Del", "return, move, copy, delete"]]],
];

export function Help() {
  const flip = (on: boolean) => { letters.value = on; localStorage.setItem("keys", on ? "on" : "off"); };
  return <Dialog title="Keys" onClose={() => { helping.value = false; }}>
    {GROUPS.map(([title, rows]) => <><h3>{title}</h3><dl class="keys">{rows.map(([keys, what]) => <div><dt>{keys.split(" ").map((one) => <kbd>{one}</kbd>)}</dt><dd>{what}</dd></div>)}</dl></>)}
    <label class="check"><input type="checkbox" checked={letters.value} onChange={(e) => flip(e.currentTarget.checked)} />single letters do something</label>
    <div class="acts"><button class="main" {...first} onClick={() => { helping.value = false; }}>Close</button></div></Dialog>;
}
