// Sites, links and managers that messages are routed by, what is down, and the state of the directory.
import { api, managerPath } from "./api";
import { count, many, plain } from "./format";
import { useData } from "./ui";

interface Site { id: string; name: string; foreign: boolean }
interface Link { site1: string; site2: string; cost: number; gates: string[] }
interface Routed { id: string; name: string; sites: string[]; router: boolean; foreign: boolean; address: string }
interface Topology { source: string; directory: string; sites: Site[]; links: Link[]; managers: Routed[]; findings: string[] }
interface Failing { address: string; queues: number; messages: number; failures: number; last_error: string }
const SHOWN = 40;

export function Sites(props: { name: string }) {
  const [found] = useData(() => api<Topology>(`${managerPath(props.name)}/topology`), [props.name], 30);
  const [failing] = useData(() => api<Failing[]>(`${managerPath(props.name)}/topology/failing`), [props.name], 5);
  if (!found || (found.source === "none" && found.directory === "none")) return null;
  const sites = found.sites.slice(0, SHOWN), site = (id: string) => plain(found.sites.find((one) => one.id === id)?.name || id);
  const manager = (id: string) => plain(found.managers.find((one) => one.id === id)?.name || id);
  const spot = (id: string): [number, number] => {
    const turn = 2 * Math.PI * sites.findIndex((one) => one.id === id) / Math.max(1, sites.length);
    return [380 + 280 * Math.sin(turn), 200 - 150 * Math.cos(turn)];
  };
  const links = found.links.filter((one) => [one.site1, one.site2].every((id) => sites.some((known) => known.id === id)));
  return <><h2>Routing of {plain(props.name)}</h2>
    <p class="soft">From {found.source === "none" ? "nowhere: it has no sites" : `the ${found.source}`}. Directory: {found.directory}. {many(found.sites.length, "site")}, {many(found.links.length, "link")}, {many(found.managers.length, "manager")}.</p>
    {found.findings.map((one) => <p class="soft">Note: {plain(one)}</p>)}
    {sites.length > 0 && <svg class="map sites" viewBox="0 0 760 400" role="img" aria-label="Sites and the links between them; the tables below say the same">
      {links.map((one) => { const [x1, y1] = spot(one.site1), [x2, y2] = spot(one.site2); return <g><line x1={x1} y1={y1} x2={x2} y2={y2} /><text x={(x1 + x2) / 2} y={(y1 + y2) / 2 - 4} text-anchor="middle">{count(one.cost)}</text></g>; })}
      {sites.map((one) => { const [x, y] = spot(one.id); return <g><rect x={x - 60} y={y - 18} width={120} height={36} rx={6} /><text x={x} y={y + 5} text-anchor="middle">{plain(one.name).slice(0, 16)}</text></g>; })}</svg>}
    {failing && failing.length > 0 && <div class="scroll" tabIndex={0} role="region" aria-label="Hops that cannot be reached"><table><thead><tr><th>Cannot be reached</th><th class="num">Queues</th><th class="num">Messages</th><th class="num">Attempts</th><th>Why</th></tr></thead>
      <tbody>{failing.map((one) => <tr><td class="mono">{plain(one.address)}</td><td class="num">{count(one.queues)}</td><td class="num">{count(one.messages)}</td><td class="num">{count(one.failures)}</td><td>{plain(one.last_error)}</td></tr>)}</tbody></table></div>}
    {found.links.length > 0 && <div class="scroll" tabIndex={0} role="region" aria-label="Links"><table><thead><tr><th>Link</th><th class="num">Cost</th><th>Gates</th></tr></thead>
      <tbody>{found.links.slice(0, 200).map((one) => <tr><td>{site(one.site1)} – {site(one.site2)}</td><td class="num">{count(one.cost)}</td><td>{one.gates.map(manager).join(", ")}</td></tr>)}</tbody></table></div>}
    {found.managers.length > 0 && <div class="scroll" tabIndex={0} role="region" aria-label="Managers of the topology"><table><thead><tr><th>Manager</th><th>Sites</th><th>Role</th><th>Address</th></tr></thead>
      <tbody>{found.managers.slice(0, 200).map((one) => <tr><td>{plain(one.name)}</td><td>{one.sites.map(site).join(", ")}</td><td>{one.foreign ? "foreign" : found.links.some((link) => link.gates.includes(one.id)) ? "gate" : one.router ? "router" : ""}</td><td class="mono">{plain(one.address || one.name)}</td></tr>)}</tbody></table></div>}</>;
}
