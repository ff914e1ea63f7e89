/**
 * Addresses that requests come from: the edge believes them of us, as of a proxy. Each may send 500 requests a
 * second (check 2): together that is far more than any load here. All have one length, as requests in a file must.
 */
export const ADDRESSES = 256;

const LAST_OCTETS = 128;

export function addressOf(number: number): string {
  const n = number % ADDRESSES;
  return `10.100.${100 + Math.floor(n / LAST_OCTETS)}.${100 + (n % LAST_OCTETS)}`;
}
