// Managers of a map in layers: who sends stands left of whom it sends to.

export interface Way { from: string; to: string; waiting: number; rate: number; failures: number; error: string }
/** More managers are not drawn one by one. */
export const NODES = 60;
const OTHERS = "other managers";

/** The computer that a format name is for. */
export const targetOf = (name: string) => /^DIRECT=(?:OS|TCP|HTTPS?):(?:\/\/)?([^\\/]+)/i.exec(name)?.[1] || name;

/** One way for all queues from a manager to another; those with the least traffic share a box. */
export function joined(queues: Way[], names: string[]): Way[] {
  const known = new Map(names.map((name) => [name.toLowerCase(), name]));
  const computer = (one: Way) => { const to = targetOf(one.to); return known.get(to.toLowerCase()) || to; };
  const weights = new Map<string, number>();
  for (const one of queues) { const to = computer(one); if (!names.includes(to)) weights.set(to, (weights.get(to) || 0) + one.waiting + one.failures); }
  const drawn = new Set([...weights].sort((a, b) => b[1] - a[1]).slice(0, Math.max(0, NODES - names.length - 1)).map(([name]) => name));
  const found = new Map<string, Way>();
  for (const one of queues) {
    const computerName = computer(one), to = names.includes(computerName) || drawn.has(computerName) ? computerName : OTHERS, key = `${one.from}\n${to}`, old = found.get(key);
    found.set(key, old ? { from: old.from, to, waiting: old.waiting + one.waiting, rate: old.rate + one.rate, failures: old.failures + one.failures, error: old.error || one.error } : { ...one, to });
  }
  return [...found.values()].filter((one) => one.from !== one.to);
}

/** Columns of names; of a circle, one way goes back. */
export function layersOf(ways: Way[], names: string[]): string[][] {
  const layer = new Map<string, number>(), under = new Set<string>();
  const sources = (name: string) => ways.filter((one) => one.to === name).map((one) => one.from);
  const depth = (name: string): number => {
    const known = layer.get(name);
    if (known !== undefined) return known;
    if (under.has(name)) return -1;
    under.add(name);
    const found = 1 + Math.max(-1, ...sources(name).map(depth));
    under.delete(name);
    layer.set(name, found);
    return found;
  };
  const all = [...new Set([...names, ...ways.map((one) => one.to)])];
  all.forEach(depth);
  const columns: string[][] = [];
  for (const name of all) (columns[layer.get(name)!] ||= []).push(name);
  return columns.filter(Boolean);
}
