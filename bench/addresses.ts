/**
 * Number of source addresses. The edge accepts them in `X-Forwarded-For`, as from a trusted proxy. Each may send 500
 * requests a second (check 2), so together they exceed every load here. Their texts are equally long, as the requests
 * of a file must be.
 */
export const ADDRESSES = 256;

const LAST_OCTETS = 128;

export function addressOf(number: number): string {
  const n = number % ADDRESSES;
  return `10.100.${100 + Math.floor(n / LAST_OCTETS)}.${100 + (n % LAST_OCTETS)}`;
}
