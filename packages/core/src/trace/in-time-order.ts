import type { TraceActivity } from "@naiad/protocol";

/**
 * The activities by their time; those of one time, and tensors, which have none, stay behind what was told before them of
 * their request. When an execution began is told only when it has ended, after all that its model had to tell meanwhile.
 */
export function inTimeOrder(activities: readonly TraceActivity[]): readonly TraceActivity[] {
  const last = new Map<number, number>();
  const timed = activities.map((activity) => {
    const ns = activity.kind === "timestamp" ? activity.ns : (last.get(activity.id) ?? -Infinity);
    last.set(activity.id, ns);
    return { activity, ns };
  });
  return timed.sort((a, b) => a.ns - b.ns).map(({ activity }) => activity);
}
