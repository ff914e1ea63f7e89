/** The service clock in ms since the epoch: the store's, the same for every core. */
export type Clock = () => number;
