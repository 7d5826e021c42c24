import type { InstanceReport } from "naiad";
import type { ReactElement } from "react";

export function InstanceTable({
  instances,
}: {
  readonly instances: readonly InstanceReport[];
}): ReactElement {
  return (
    <section className="card" aria-label="Instances">
      <h3>Instances</h3>
      <table>
        <thead>
          <tr>
            <th>Instance</th>
            <th>State</th>
            <th>Runs on</th>
            <th>Executions</th>
          </tr>
        </thead>
        <tbody>
          {instances.map((instance) => (
            <tr key={`${instance.version} ${instance.instanceName}`}>
              <td>{instance.instanceName}</td>
              <td>{instance.state}</td>
              <td>
                {deviceText(instance)}
                {instance.note !== undefined && <small className="note">{instance.note}</small>}
              </td>
              <td className="number">{instance.executionCount}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}

function deviceText({ device }: InstanceReport): string {
  if (device === undefined) return "…";
  const where = device.adapter ?? `${device.threads} ${device.threads === 1 ? "thread" : "threads"}`;
  return `${device.executionProvider} (${device.build}), ${where}`;
}
