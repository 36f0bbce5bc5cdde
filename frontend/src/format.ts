// Numbers, sizes and times as people read them.

const numbers = new Intl.NumberFormat("en");
export const count = (n: number) => numbers.format(n);

export const many = (n: number, what: string, plural = `${what}s`) => `${count(n)} ${n === 1 ? what : plural}`;

export function size(bytes: number): string {
  if (bytes < 1024) return `${bytes} B`;
  const units = ["KiB", "MiB", "GiB", "TiB"];
  let at = -1;
  while (bytes >= 1024 && at < units.length - 1) { bytes /= 1024; at++; }
  return `${bytes < 10 ? bytes.toFixed(1) : Math.round(bytes)} ${units[at]}`;
}

export function age(seconds: number | null): string {
  if (seconds === null) return "";
  if (seconds < 60) return `${seconds} s`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min`;
  if (seconds < 172800) return `${Math.floor(seconds / 3600)} h ${Math.floor((seconds % 3600) / 60)} min`;
  return `${Math.floor(seconds / 86400)} d`;
}

const pad = (n: number, width = 2) => String(n).padStart(width, "0");
export function time(text: string): string {
  const at = new Date(text);
  if (isNaN(at.valueOf())) return text;
  const day = `${at.getFullYear()}-${pad(at.getMonth() + 1)}-${pad(at.getDate())}`;
  const clock = `${pad(at.getHours())}:${pad(at.getMinutes())}:${pad(at.getSeconds())}`;
  return new Date().toDateString() === at.toDateString() ? clock : `${day} ${clock}`;
}

/** A time with its zone, and how long ago it was. */
export function exact(text: string): string {
  const at = new Date(text);
  if (isNaN(at.valueOf())) return text;
  const seconds = Math.round((Date.now() - at.valueOf()) / 1000);
  const zone = at.toLocaleString("en-GB", { timeZoneName: "short" });
  return `${zone}, ${seconds >= 0 ? `${age(seconds)} ago` : `in ${age(-seconds)}`}`;
}

const FORMATS: Record<string, string> = { xml: "XML", json: "JSON", nrbf: ".NET objects", nmf: "WCF envelope" };
/** What a body is, for people: `activex:VT_LPWSTR` with a `<` in front is XML. */
export function bodyKind(format: string, text: string | null): string {
  const found = /^(.*?)activex:(VT_\w+)$/.exec(format);
  if (!found) return format.split(", ").map((one) => FORMATS[one] || one).join(", ");
  const start = /^VT_(LPWSTR|BSTR|LPSTR)$/.test(found[2]!) ? (text || "").trimStart()[0] : undefined;
  const kind = start === "<" ? "XML, " : start === "{" || start === "[" ? "JSON, " : start !== undefined ? "text, " : "";
  return `${found[1]}${kind}${found[2]}`;
}

/** Where a message was sent, as people say it: `orders on shop01`. */
export function destination(name: string): string {
  const found = /^DIRECT=(?:OS|TCP):([^\\]+)\\(?:private\$\\)?(.+)$/i.exec(name);
  return found ? `${found[2]} on ${found[1]}` : name;
}

export const title = (text: string) => text ? text[0]!.toUpperCase() + text.slice(1) : text;

const few = (n: number) => count(Math.abs(n) >= 10 ? Math.round(n) : +n.toFixed(1));

export const perSecond = (n: number) => n && Math.abs(n) < 0.1 ? "< 0.1" : few(n);

export const speed = (n: number | null | undefined) => n ? `${perSecond(n)}/s` : "–";

/** How long something took. */
export const seconds = (n: number) => n < 1 ? `${Math.round(n * 1000)} ms` : n < 60 ? `${+n.toFixed(1)} s` : age(Math.round(n));

// Controls that could reorder or hide text are shown as what they are.
export const plain = (text: string) =>
  text.replace(/[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff]/g,
    (sign) => "\\u" + sign.charCodeAt(0).toString(16).padStart(4, "0"));

export const shortName = (name: string) => name.replace(/^\.\\(private\$\\)?/i, "");

export function hexDump(hex: string): string {
  const lines: string[] = [];
  for (let at = 0; at < hex.length && lines.length < 1024; at += 32) {
    const bytes = hex.slice(at, at + 32).match(/../g) || [];
    const text = bytes.map((b) => { const n = parseInt(b, 16); return n > 31 && n < 127 ? String.fromCharCode(n) : "."; }).join("");
    lines.push(`${(at / 2).toString(16).padStart(6, "0")}  ${bytes.join(" ").padEnd(47)}  ${text}`);
  }
  return lines.join("\n");
}

export function pretty(text: string, format: string): string {
  const start = text.trimStart();
  if (format === "json" || start.startsWith("{") || start.startsWith("[")) {
    try { return JSON.stringify(JSON.parse(text), null, 2); } catch { return text; }
  }
  if (start.startsWith("<") && !text.trim().includes("\n")) {
    let depth = 0;
    return text.replace(/>\s*</g, ">\n<").split("\n").map((line) => {
      if (/^<\//.test(line)) depth = Math.max(0, depth - 1);
      const shown = "  ".repeat(depth) + line;
      if (/^<[^!?/]/.test(line) && !/\/>$/.test(line) && !/<\//.test(line)) depth++;
      return shown;
    }).join("\n");
  }
  return text;
}

export const bytesOf = (hex: string) => new Uint8Array((hex.match(/../g) || []).map((pair) => parseInt(pair, 16)));
