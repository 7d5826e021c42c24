import { InferenceError } from "@naiad/protocol";

/**
 * The member that `record` itself offers under a name from outside, never one that every object has, like `constructor`.
 * Throws UNSUPPORTED where there is none. The text is read by the asker.
 */
export function offered<Member>(record: Readonly<Record<string, Member>>, name: string): Member {
  const member = name in Object.prototype ? undefined : record[name];
  if (member === undefined) {
    throw new InferenceError("UNSUPPORTED", `the other side does not know '${name}'`);
  }
  return member;
}
