import { Resolver } from "node:dns/promises";
import { once } from "node:events";
import { request as httpRequest, type IncomingMessage } from "node:http";
import { request as httpsRequest } from "node:https";
import { isIP, type LookupFunction } from "node:net";
import { isInBlocks, whyNotPublic, type AddressBlock } from "chat-bridge-runner";
import { readBounded } from "./read-bounded";

export interface PublicFetchOptions {
  /** Blocks of non-public addresses from which the function may fetch. */
  readonly allow: readonly AddressBlock[];
  /** Value of the header `Accept`. */
  readonly accept: string;
  readonly bytesMax: number;
  /** Milliseconds for all lookups, redirects and the body. */
  readonly withinMs: number;
  /** Resolves to the addresses of a host name. By default, asks the system's name servers. */
  readonly resolve?: (name: string) => Promise<readonly string[]>;
}

export interface Fetched {
  readonly bytes: Buffer;
  /** The media type in lower case, without parameters. */
  readonly type: string;
}

const REDIRECTS_MAX = 3;
const DNS_TRY_WITHIN_MS = 1_200;

/**
 * Returns a function that fetches an untrusted URL. Such a URL must not lead into the bridge's own network, so each
 * address of the host must be public or allowed, even after a redirect. The connection goes to a checked address: the
 * name is not looked up again. The function rejects with an `Error` whose message does not contain the URL.
 */
export function createPublicFetch(options: PublicFetchOptions) {
  const { allow, accept, bytesMax, withinMs, resolve = resolveName } = options;

  async function checkedAddresses(host: string): Promise<readonly string[]> {
    const addresses = isIP(host) === 0 ? await resolve(host) : [host];
    for (const address of addresses) {
      const why = isInBlocks(address, allow) ? undefined : whyNotPublic(address);
      if (why !== undefined) throw new Error(`the host has an address that is not public (${why})`);
    }
    return addresses;
  }

  async function get(url: URL, signal: AbortSignal): Promise<IncomingMessage> {
    if (!/^https?:$/.test(url.protocol)) throw new Error("the URL is not http or https");
    const addresses = await checkedAddresses(url.hostname.replace(/^\[(.*)\]$/, "$1"));
    signal.throwIfAborted();
    const send = url.protocol === "https:" ? httpsRequest : httpRequest;
    // Compressed answers are not accepted, because they can become much larger than `bytesMax`.
    const headers = { accept, "accept-encoding": "identity" };
    const request = send(url, { agent: false, headers, lookup: answerWith(addresses), signal }).end();
    const [response] = (await once(request, "response")) as [IncomingMessage];
    return response;
  }

  async function fetchFrom(first: URL, signal: AbortSignal): Promise<Fetched> {
    let url = first;
    for (let redirects = 0; redirects <= REDIRECTS_MAX; redirects += 1) {
      const response = await get(url, signal);
      const { statusCode: status = 0, headers } = response;
      if (status >= 200 && status < 300) {
        const type = (headers["content-type"] ?? "").split(";")[0]?.trim().toLowerCase() ?? "";
        return { bytes: await readBounded(response, bytesMax), type };
      }
      response.destroy();
      const { location } = headers;
      const isRedirect = status >= 300 && status < 400 && location !== undefined;
      if (!isRedirect || !URL.canParse(location, url.href)) throw new Error(`the answer is ${status}`);
      url = new URL(location, url);
    }
    throw new Error(`the answer redirects more than ${REDIRECTS_MAX} times`);
  }

  return async (url: string, signal: AbortSignal): Promise<Fetched> => {
    if (!URL.canParse(url)) throw new Error("the URL is invalid");
    const late = AbortSignal.timeout(withinMs);
    const stopped = AbortSignal.any([signal, late]);
    const aborted = new Promise<never>((_resolve, reject) => {
      stopped.addEventListener("abort", () => reject(stopped.reason as Error), { once: true });
    });
    try {
      // A lookup cannot be aborted, so the race stops waiting for it when `stopped` is aborted.
      return await Promise.race([aborted, fetchFrom(new URL(url), stopped)]);
    } catch (error) {
      if (!late.aborted || signal.aborted) throw error;
      throw new Error(`the answer was not complete within ${withinMs / 1000} s`, { cause: error });
    }
  };
}

/**
 * Resolves to the addresses of a name. The system's function `getaddrinfo` is not used, because the whole process
 * shares only a few threads for this function. Slow name servers of an untrusted host would delay lookups of the
 * homeserver.
 */
async function resolveName(name: string): Promise<readonly string[]> {
  const resolver = new Resolver({ timeout: DNS_TRY_WITHIN_MS, tries: 1 });
  const answers = await Promise.allSettled([resolver.resolve4(name), resolver.resolve6(name)]);
  const addresses = answers.flatMap((answer) => (answer.status === "fulfilled" ? answer.value : []));
  if (addresses.length === 0) throw new Error("the host has no address");
  return addresses;
}

/** Returns a lookup function that answers with the checked addresses. */
function answerWith(addresses: readonly string[]): LookupFunction {
  const all = addresses.map((address) => ({ address, family: isIP(address) }));
  return (_name, { all: wantsAll }, callback) => {
    const [first] = all;
    if (wantsAll === true) callback(null, all);
    else callback(null, first?.address ?? "", first?.family ?? 4);
  };
}
