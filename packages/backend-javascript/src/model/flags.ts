/** Of a response that is its request's last. */
export const RESPONSE_COMPLETE_FINAL = 1;

/** Of the first and of the last request of a sequence. */
export const SEQUENCE_START = 1;
export const SEQUENCE_END = 2;

/** What becomes of a request when `execute` has returned: it is done with, or executed again later. */
export const REQUEST_RELEASE_ALL = 1;
export const REQUEST_RELEASE_RESCHEDULE = 2;
