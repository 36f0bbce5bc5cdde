// Two messages side by side: what is the same, and what is not.
import { api, pageOf, queuePath, type MessageDetails } from "./api";
import { plain, pretty, shortName } from "./format";
import { manager, query } from "./state";
import { Head, Link, useData } from "./ui";

type Line = [string | null, string | null];

/** Lines of two texts beside each other; those of only one have an empty place on the other side. */
export function paired(left: string[], right: string[]): Line[] {
  const a = left.slice(0, 600), b = right.slice(0, 600);
  const longest = Array.from({ length: a.length + 1 }, () => new Uint16Array(b.length + 1));
  for (let i = a.length - 1; i >= 0; i--) for (let j = b.length - 1; j >= 0; j--)
    longest[i]![j] = a[i] === b[j] ? longest[i + 1]![j + 1]! + 1 : Math.max(longest[i + 1]![j]!, longest[i]![j + 1]!);
  const lines: Line[] = [];
  let i = 0, j = 0;
  while (i < a.length || j < b.length) {
    if (i < a.length && j < b.length && a[i] === b[j]) lines.push([a[i++]!, b[j++]!]);
    else if (j >= b.length || (i < a.length && longest[i + 1]![j]! >= longest[i]![j + 1]!)) lines.push([a[i++]!, null]);
    else lines.push([null, b[j++]!]);
  }
  return lines;
}

const shown = (value: unknown) => value === null || value === undefined ? "" : plain(typeof value === "object" ? JSON.stringify(value) : String(value));

export function Compare(props: { queue: string }) {
  const name = manager.value, base = `${queuePath(name, props.queue)}/messages`;
  const ids = (query.value.get("ids") || "").split(",").slice(0, 2);
  const [both] = useData(() => Promise.all(ids.map((id) => api<MessageDetails>(`${base}/${id}`))), [base, ids.join()]);
  if (!both || both.length < 2) return <Head title="Compare messages" />;
  const [a, b] = both as [MessageDetails, MessageDetails];
  const text = (one: MessageDetails) => plain(one.body.text === null ? one.body.hex.replace(/(.{32})/g, "$1\n") : pretty(one.body.text, one.body.format)).split("\n");
  const lines = paired(text(a), text(b));
  const names = [...new Set([...Object.keys(a.properties), ...Object.keys(b.properties)])];
  const different = names.filter((key) => shown(a.properties[key]) !== shown(b.properties[key]));
  const title = (one: MessageDetails) => <th><Link to={pageOf(name, props.queue, one.message.lookup_id)}>{plain(one.message.label) || "(no label)"}</Link></th>;
  return <><p class="soft"><Link to={pageOf(name, props.queue)}>{plain(shortName(props.queue))}</Link></p><Head title="Compare messages" />
    <h2>Bodies <span class="soft">{lines.every(([l, r]) => l === r) ? "(the same)" : `(${lines.filter(([l, r]) => l !== r).length} lines differ)`}</span></h2>
    <div class="scroll" tabIndex={0} role="region" aria-label="Bodies"><table class="compare"><thead><tr><th><span class="soft">≠</span></th>{title(a)}{title(b)}</tr></thead>
      <tbody>{lines.map(([l, r]) => <tr class={l === r ? "" : "differs"}><td>{l === r ? "" : "≠"}</td><td class="mono">{l}</td><td class="mono">{r}</td></tr>)}</tbody></table></div>
    <h2>Properties that differ <span class="soft">({different.length} of {names.length})</span></h2>
    <div class="scroll" tabIndex={0} role="region" aria-label="Properties"><table><thead><tr><th>Property</th>{title(a)}{title(b)}</tr></thead>
      <tbody>{different.map((key) => <tr><td class="name">{key.replaceAll("_", " ")}</td><td class="wrap mono">{shown(a.properties[key])}</td><td class="wrap mono">{shown(b.properties[key])}</td></tr>)}</tbody></table></div></>;
}
