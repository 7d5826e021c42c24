import type { ReactElement } from "react";
import { byteText, pretty } from "../lib/format.ts";
import type { Exchange } from "../lib/v2.ts";

const SHOWN = 4_000;

/** The last request and its answer, as they crossed the wire. */
export function ExchangePanel({ exchange }: { readonly exchange: Exchange }): ReactElement {
  return (
    <section className="card exchange" aria-label="Exchange">
      <h3>
        <code>
          {exchange.method} {exchange.url}
        </code>
        <span className={exchange.status < 300 ? "status good" : "status bad"}>{exchange.status}</span>
        <span className="quiet">{exchange.milliseconds.toFixed(1)} ms as the page sees it</span>
      </h3>
      <div className="columns-2">
        <Side title="Request" json={exchange.request} binaryBytes={exchange.requestBinaryBytes} />
        <Side title="Response" json={exchange.response} binaryBytes={exchange.responseBinaryBytes} />
      </div>
    </section>
  );
}

function Side({
  title,
  json,
  binaryBytes,
}: {
  readonly title: string;
  readonly json: unknown;
  readonly binaryBytes: number;
}): ReactElement {
  const text = typeof json === "string" ? json : pretty(json);
  return (
    <div>
      <h4>{title}</h4>
      <pre>
        {text.slice(0, SHOWN)}
        {text.length > SHOWN && `\n… ${text.length - SHOWN} more characters`}
      </pre>
      {binaryBytes > 0 && <p className="quiet">followed by {byteText(binaryBytes)} of tensors</p>}
    </div>
  );
}
