/** Returns the service time in ms since the epoch. It comes from the store, so all cores agree on it. */
export type Clock = () => number;
