import type { ReactElement } from "react";
import type { ServerView } from "../lib/use-server.ts";

export function Header({ server }: { readonly server: ServerView }): ReactElement {
  const { phase, info } = server;
  return (
    <header className="header">
      <svg className="logo" viewBox="0 0 32 32" aria-hidden="true">
        <rect width="32" height="32" rx="8" />
        <path d="M4 19c4-5 8-5 12 0s8 5 12 0M4 12c4-5 8-5 12 0s8 5 12 0" />
      </svg>
      <div>
        <h1>Naiad</h1>
        <p className="subtitle">Triton Inference Server, running inside this tab</p>
      </div>
      <ul className="facts" aria-label="Server">
        <li className={`pill ${phase.kind}`} data-testid="server-state">
          {phase.kind === "ready" ? "server ready" : phase.kind === "failed" ? "server failed" : "starting…"}
        </li>
        {phase.kind === "ready" && (
          <li className="pill">{phase.server.mode === "direct" ? "direct port" : "service worker"}</li>
        )}
        {info !== undefined && <li className="pill">{adapterText(info)}</li>}
        {info !== undefined && (
          <li className="pill">
            {info.capabilities.crossOriginIsolated ? "cross-origin isolated" : "not isolated"}
          </li>
        )}
      </ul>
    </header>
  );
}

function adapterText(info: NonNullable<ServerView["info"]>): string {
  const [gpu] = info.capabilities.gpus;
  if (gpu === undefined) return "no WebGPU";
  const name = [gpu.vendor, gpu.architecture].filter((part) => part !== "").join(" ");
  return `WebGPU: ${name}${gpu.isFallback ? " (software)" : ""}`;
}
