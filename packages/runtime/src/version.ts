/** Of all packages of Naiad together; equal to the `version` of their `package.json`. */
export const NAIAD_VERSION: string = "0.1.0";

/** What server metadata shows: the release of Triton whose behaviour this is, and our own after it. */
export const SERVER_VERSION: string = `2.73.0+naiad.${NAIAD_VERSION}`;
