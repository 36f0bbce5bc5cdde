// The body of a message in all its views: as it reads, as a tree, as text, as bytes, as it travels.
import { useEffect, useState } from "preact/hooks";
import { api, type Decoded, type MessageDetails, type TreeNode } from "./api";
import { bodyKind, bytesOf, hexDump, plain, pretty } from "./format";
import { isOurs, useKeys } from "./keys";
import { failed } from "./state";
import { Link } from "./ui";

const ENCODINGS = ["as found", "utf-8", "utf-16le", "utf-16be", "windows-1252", "shift_jis", "gb18030"];
const FOLDED = 60;
/** The view that was chosen last: who looks at trees goes on doing so with the next message. */
let kept = "auto";

interface Uses { onColumn?: (path: string) => void; onFilter?: (text: string) => void }

function Node(props: { node: TreeNode; depth: number } & Uses) {
  const { node, depth } = props;
  const inner = node.children || [];
  const [open, setOpen] = useState(depth < 3 && inner.length <= FOLDED);
  const isLeaf = !inner.length;
  const word = node.kind === "attribute" ? `@${node.name}` : node.name;
  const filter = node.path && node.text && node.text.length < 80 && !/["\\]/.test(node.text) && !/[\s()"]/.test(node.path) ? `${node.path}=="${node.text}"` : "";
  const line = <><span class={`node ${node.kind || ""}`}>{plain(word)}</span>{node.type && <span class="tag">{plain(node.type)}</span>}
    {node.kind === "nothing" ? <span class="soft"> nothing</span> : node.text ? <span class={`value ${node.kind || ""}`}> {plain(node.text)}</span> : !isLeaf && !open ? <span class="soft"> {node.kind === "array" ? `[${inner.length}]` : `{${inner.length}}`}</span> : null}
    {node.more && <span class="warn"> … more than is shown</span>}
    {node.path && isLeaf && <span class="uses">{props.onColumn && <button class="plain" onClick={() => props.onColumn!(node.path!)}>show as column</button>}{props.onFilter && filter && <button class="plain" onClick={() => props.onFilter!(filter)}>filter</button>}</span>}</>;
  if (isLeaf) return <li class="leaf">{line}</li>;
  return <li><button class="fold" aria-expanded={open} aria-label={`${open ? "fold" : "unfold"} ${plain(word)}`} onClick={() => setOpen(!open)}>{open ? "▾" : "▸"}</button>{line}
    {open && <ul>{inner.map((one) => <Node node={one} depth={depth + 1} onColumn={props.onColumn} onFilter={props.onFilter} />)}</ul>}</li>;
}

function Found(props: { text: string; word: string }) {
  if (!props.word) return <>{props.text}</>;
  const parts: preact.ComponentChildren[] = [], low = props.text.toLowerCase(), word = props.word.toLowerCase();
  let at = 0;
  for (let next = low.indexOf(word); next >= 0 && parts.length < 2000; next = low.indexOf(word, at)) {
    parts.push(props.text.slice(at, next), <mark>{props.text.slice(next, next + word.length)}</mark>);
    at = next + word.length;
  }
  return <>{parts}{props.text.slice(at)}</>;
}

const BUSES: Record<string, string> = { rebus: "Rebus", nservicebus: "NServiceBus" };
const LINKED = /(Id|CorrelationId|ConversationId|FailedQ|msg-id|corr-id)$/;

export function Body(props: { details: MessageDetails; base: string } & Uses) {
  const { body, headers, bus } = props.details;
  const [chosen, setChosen] = useState(kept);
  const setView = (one: string) => { kept = one; setChosen(one); };
  const [decoded, setDecoded] = useState<Decoded>();
  const [encoding, setEncoding] = useState(ENCODINGS[0]!);
  const [wraps, setWraps] = useState(true);
  const [word, setWord] = useState("");
  const hasHeaders = Object.keys(headers).length > 0;
  const isTree = /xml|json|nrbf|nmf/.test(body.format) || (/^activex:VT_(LPWSTR|BSTR|LPSTR)/.test(body.format) && /^\s*[<{[]/.test(body.text || ""));
  const views = ["auto", ...(isTree ? ["tree"] : []), "text", "hex", ...(hasHeaders ? ["headers"] : []), "packet"];
  const view = views.includes(chosen) ? chosen : "auto";
  const isObject = /nrbf|nmf/.test(body.format);
  const shown = view === "auto" ? (isObject ? "tree" : body.text === null ? "hex" : "auto") : view;
  const needs = shown === "tree" || shown === "packet";
  useEffect(() => setDecoded(undefined), [props.base]);
  useEffect(() => { if (needs) api<Decoded>(`${props.base}/decoded`).then(setDecoded, failed); }, [needs, props.base]);
  const canShow = (one: string) => one !== "text" || body.text !== null || !!body.hex;
  useKeys((event) => { const one = views[Number(event.key) - 1]; if (one && isOurs(event) && canShow(one)) { event.preventDefault(); setView(one); } });
  const names: Record<string, string> = { auto: `auto: ${bodyKind(body.format, body.text)}`, headers: `headers of ${BUSES[bus] || bus}`, tree: /nmf/.test(body.format) ? "WCF envelope" : /nrbf/.test(body.format) ? ".NET objects" : "tree" };
  const text = encoding === "as found" || !body.hex ? (body.text ?? "") : new TextDecoder(encoding).decode(bytesOf(body.hex));
  return <><div class="tabs" role="group" aria-label="Views of the body">
    {views.map((one) => <button aria-pressed={view === one} disabled={!canShow(one)} onClick={() => setView(one)}>{names[one] || one}</button>)}
    <span class="more">download <a href={`/api/v1${props.base}/body`} download="body">body</a> <a href={`/api/v1${props.base}/packet`} download="packet">packet</a></span></div>
    {(shown === "auto" || shown === "text") && <div class="filter small"><input type="search" aria-label="Find in the body" placeholder="find in body" value={word} onInput={(e) => setWord(e.currentTarget.value)} />
      {shown === "text" && <label>encoding <select value={encoding} onChange={(e) => setEncoding(e.currentTarget.value)}>{ENCODINGS.map((one) => <option>{one}</option>)}</select></label>}
      <label><input type="checkbox" checked={wraps} onChange={(e) => setWraps(e.currentTarget.checked)} />wrap</label></div>}
    {body.reason && <p class="warn">{plain(body.reason)}</p>}
    {shown === "headers" ? <div class="scroll" tabIndex={0} role="region" aria-label="Headers"><table><thead><tr><th>Header</th><th>Value</th></tr></thead><tbody>{Object.entries(headers).map(([key, value]) => <tr><td class="name">{plain(key)}</td><td class="wrap mono">{plain(value)} {LINKED.test(key) && <Link to={`/find?q=${encodeURIComponent(`header.${key}:"${value}"`)}`}>find ›</Link>} {props.onColumn && <button class="plain" onClick={() => props.onColumn!(`header.${key}`)}>show as column</button>}</td></tr>)}</tbody></table></div>
      : needs && !decoded ? <p class="soft">…</p>
      : shown === "tree" ? <div class="tree" tabIndex={0} role="region" aria-label="Body as a tree">{decoded!.tree ? <ul><Node node={decoded!.tree} depth={0} onColumn={props.onColumn} onFilter={props.onFilter} /></ul> : <p class="soft">There is no tree of this body. {plain(decoded!.why)}.</p>}</div>
      : shown === "packet" ? <div class="scroll tall" tabIndex={0} role="region" aria-label="Fields of the packet"><table><thead><tr><th class="num">Offset</th><th>Field</th><th>Value</th><th>Meaning</th></tr></thead><tbody>{decoded!.fields.map((one) => <tr><td class="num mono">{one.offset}</td><td class="wrap">{one.path}</td><td class="wrap mono">{plain(one.value)}</td><td class="wrap">{plain(one.meaning)}</td></tr>)}</tbody></table></div>
      : shown === "hex" ? <pre class="hex" tabIndex={0}>{hexDump(body.hex) || "(empty)"}</pre>
      : <pre tabIndex={0} class={wraps ? "" : "hex"}><Found word={word} text={plain(shown === "text" ? text : pretty(body.text!, body.format)) || "(empty)"} /></pre>}
    {decoded && needs && <p class="soft small">{plain(decoded.format || body.format)}: {plain(decoded.why)}.</p>}
    {(body.truncated || shown === "hex") && body.size > body.hex.length / 2 && (shown === "hex" || shown === "text" || shown === "auto") && <p class="soft small">The beginning; the download has all of it.</p>}</>;
}
