// Readers that keep their place: pipelines of Spark and other subscriptions.
import { api, managerPath, type Row } from "./api";
import { manager } from "./state";
import { Empty, Head, Rows, useData } from "./ui";

export function Pipelines() {
  const name = manager.value;
  const [rows] = useData(() => api<Row[]>(`${managerPath(name)}/subscriptions`), [name], 5);
  return <><Head title={`Pipelines and subscriptions of ${name}`} />
    <p class="soft">Readers that keep their place: streams of Spark and others. <code>openmsmq pipeline status</code> tells the lag of each.</p>
    {rows && !rows.length && <Empty>No one subscribes to a queue.</Empty>}{!!rows?.length && <Rows rows={rows} />}</>;
}
