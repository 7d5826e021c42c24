/** Of all packages of Naiad together; equal to the `version` of their `package.json`. */
export const NAIAD_VERSION: string = "0.1.0";

/** The release of Triton whose behaviour this is. */
export const TRITON_VERSION: string = "2.73.0";

/** What server metadata shows. */
export const SERVER_VERSION: string = `${TRITON_VERSION}+naiad.${NAIAD_VERSION}`;
