import { randomUUID } from "node:crypto";
import { BODY_MAX_BYTES } from "../../contract/numbers";
import { judgeCookie, judgeDashboard } from "./dashboard-checks";
import { judgeEdgeAnswer, judgePlainHttp, judgeSizes, judgeWebClock, judgeWebTls } from "./edge-checks";
import { fail, skipped, worstOf, type Finding } from "./finding";
import { addressesOf, below, hookUrl, probeHttp, type Probe, type Probed } from "./probe-http";
import { lookedUp, STEP_MS } from "./within";

/** Size in bytes of the header that tests the proxy's size limit. The contract allows 16 KB for all headers. */
const HEADER_BYTES = 12 * 1_024;
/** The port at which a browser tries plain HTTP. */
const HTTP_PORT = 80;
const HTTPS_PORT = 443;

interface Web {
  /** Base URL without a slash at the end of the path. */
  readonly url: URL;
  readonly ca: Buffer | undefined;
}

/** Asks every address of the base URL for bridges, and judges the answers. */
export async function checkEdge(web: Web): Promise<readonly Finding[]> {
  const { url } = web;
  const found = await findAddresses("edge", url);
  if (!Array.isArray(found)) return [found as Finding];
  const nowMs = Date.now();
  const [small, large, plain] = await Promise.all([
    ask(web, found, "/events", {}),
    // The large request names a workspace that does not exist, so core stores nothing.
    ask(web, found, "", {
      method: "POST",
      body: largestBody(),
      headers: { "X-Size": "x".repeat(HEADER_BYTES) },
    }),
    checkPlainHttp(web, found),
  ]);
  const [first] = small;
  const answers = small.map(({ at, answer }) => judgeEdgeAnswer(at, answer));
  const isEdge = answers.every(({ result }) => result === "ok");
  return [
    worstOf(answers),
    worstOf(small.map(({ answer }) => judgeWebTls("edge-certificate", url, answer, nowMs))),
    plain,
    isEdge
      ? worstOf(large.map(({ at, answer }) => judgeSizes(at, answer)))
      : skipped("edge-sizes", "no edge answers"),
    first === undefined
      ? skipped("edge-clock", "there is no address")
      : worstOf(small.map(({ at, answer }) => judgeWebClock(at, answer))),
  ];
}

/** Asks the dashboard, and judges its answers. Sends no token. */
export async function checkDashboard(web: Web): Promise<readonly Finding[]> {
  const { url } = web;
  const found = await findAddresses("dashboard", url);
  if (!Array.isArray(found)) return [found as Finding];
  const session = below(url, "/api/session");
  const nowMs = Date.now();
  const each = await Promise.all(
    (found as readonly string[]).map(async (address) => {
      const probe = { url: session, address, ca: web.ca };
      const [answer, ended] = await Promise.all([
        probeHttp(probe, STEP_MS),
        // Without a session, the answer only removes the cookie. The removal has the same attributes as the cookie of a
        // sign-in.
        probeHttp({ ...probe, method: "DELETE", headers: { "X-Dashboard": "doctor" } }, STEP_MS),
      ]);
      return [
        judgeDashboard(url, answer),
        judgeWebTls("dashboard-certificate", url, answer, nowMs),
        judgeCookie(url, ended),
      ] as const;
    }),
  );
  return ([0, 1, 2] as const).map((check) => worstOf(each.map((findings) => findings[check])));
}

/** Checks port 80 if the address is https with the default port. */
async function checkPlainHttp({ url }: Web, addresses: readonly string[]): Promise<Finding> {
  if (url.protocol !== "https:") return skipped("edge-http", "the address has no TLS");
  if (url.port !== "" && url.port !== String(HTTPS_PORT)) {
    return skipped(
      "edge-http",
      `${url.host} does not have the usual port, so port ${HTTP_PORT} is of no interest`,
    );
  }
  const host = `${url.hostname}:${HTTP_PORT}`;
  const plain = hookUrl(new URL(`http://${host}${url.pathname}`), randomUUID(), "/events");
  const answers = await Promise.all(addresses.map((address) => probeHttp({ url: plain, address }, STEP_MS)));
  return worstOf(answers.map((answer) => judgePlainHttp(host, answer)));
}

/** Sends one request for a workspace that does not exist to each address. */
function ask(
  { url, ca }: Web,
  addresses: readonly string[],
  path: string,
  request: Partial<Probe>,
): Promise<readonly { readonly at: string; readonly answer: Probed }[]> {
  const hook = hookUrl(url, randomUUID(), path);
  return Promise.all(
    addresses.map(async (address) => ({
      at: addresses.length === 1 ? url.origin : `${url.origin} (${address})`,
      answer: await probeHttp({ ...request, url: hook, address, ca }, STEP_MS),
    })),
  );
}

async function findAddresses(check: string, url: URL): Promise<readonly string[] | Finding> {
  try {
    return await lookedUp(addressesOf(url));
  } catch (error) {
    return fail(check, `the name ${url.hostname} cannot be looked up: ${(error as Error).message}`, {
      fix: "check the address and the DNS records",
      page: `docs/doctor.md#${check}`,
    });
  }
}

/** Returns a JSON body of the maximum size that the contract allows. */
function largestBody(): Uint8Array {
  const frame = JSON.stringify({ text: "" });
  return Buffer.from(JSON.stringify({ text: "x".repeat(BODY_MAX_BYTES - frame.length) }));
}
