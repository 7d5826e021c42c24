import type { Trace, TraceActivity, TracedRequest } from "@naiad/protocol";

/**
 * The objects of Triton's trace file for a trace, with commas between, without the brackets of the list: what each request is,
 * then what happened to it, request by request. (Triton leaves out what a request is where no times are traced.)
 */
export function tritonTraceObjects({ id: rootId, requests, activities }: Trace): string {
  const byId = new Map<number, string[]>([[rootId, []]]);
  const objectsOf = (id: number): string[] => {
    let objects = byId.get(id);
    if (objects === undefined) byId.set(id, (objects = []));
    return objects;
  };
  for (const request of requests) objectsOf(request.id).push(headText(request));
  for (const activity of activities) objectsOf(activity.id).push(activityText(activity));
  return [...byId.values()].flat().join(",");
}

function headText({ id, modelName, modelVersion, requestId, parentId }: TracedRequest): string {
  return JSON.stringify({
    id,
    model_name: modelName,
    model_version: modelVersion,
    ...(requestId !== "" && { request_id: requestId }),
    ...(parentId !== undefined && { parent_id: parentId }),
  });
}

function activityText(activity: TraceActivity): string {
  const { id } = activity;
  switch (activity.kind) {
    case "timestamp":
      return JSON.stringify({ id, timestamps: [{ name: activity.name, ns: Math.round(activity.ns) }] });
    case "tensor": {
      const { name, data, shape, datatype } = activity;
      const tensor = { name, data, shape: shape.join(","), dtype: datatype };
      return JSON.stringify({ id, activity: activity.activity, tensor });
    }
  }
}

/** Triton's trace file. */
export function tritonTraceText(traces: readonly Trace[]): string {
  return `[${traces
    .map(tritonTraceObjects)
    .filter((objects) => objects !== "")
    .join(",")}]`;
}
