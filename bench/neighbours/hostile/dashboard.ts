import { attempt } from "../tally";
import type { Attack } from "./hostile";

/** Number of sign-ins: more than the number of sessions that the dashboard keeps for all operators together. */
const SIGN_INS = 1_100;
/**
 * Number of concurrent sign-ins. At most 10, because the dashboard allows ten failed attempts from one address, and
 * counts each sign-in in progress as a failed attempt.
 */
const AT_ONCE = 8;

/** Signs in again and again. The sessions stay open after the attack. */
export const signIns: Attack = ({ client, signal }) =>
  attempt({ count: SIGN_INS, atOnce: AT_ONCE, signal }, () => client.signIn());

/** Number of pages: more than the dashboard serves to all operators together. */
const PAGES = 240;

/** Opens pages of the dashboard, and keeps them open. */
export const openPages: Attack = async ({ client, tenant, signal }) => {
  const cookie = await client.signIn();
  const closers: (() => void)[] = [];
  const counts = await attempt({ count: PAGES, atOnce: AT_ONCE, signal }, async () => {
    closers.push(await client.openPage(tenant.polled, cookie));
  });
  return { ...counts, release: () => closers.forEach((close) => close()) };
};
