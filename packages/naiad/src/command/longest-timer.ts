/** What no timer of Node.js can wait for fires at once. */
export const LONGEST_TIMER_MS: number = 2 ** 31 - 1;
