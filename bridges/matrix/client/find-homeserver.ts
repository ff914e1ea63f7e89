import { certificateAdvice, isLoopback } from "chat-bridge-runner";
import { fieldsOf } from "./fields";
import { readBounded } from "./read-bounded";
import { createRequests } from "./request";
import { withTimeLimit } from "./time-limit";

const WITHIN_MS = 15_000;
const WELL_KNOWN_MAX_BYTES = 64 * 1024;

/**
 * Resolves to the URL of a homeserver's client API. `answer` is this URL, or the name of the server, e.g. "example.org".
 * Rejects with an error whose message continues a sentence that begins with the name of the setting.
 */
export async function findHomeserver(answer: string): Promise<string> {
  const isUrl = /^https?:\/\//.test(answer);
  const site = isUrl ? answer.replace(/\/+$/, "") : `https://${answer}`;
  if (!URL.canParse(site)) throw new Error("must be the name of a server or a URL");
  const direct = async (): Promise<string> => (await checkVersions(site), site);
  const named = async (): Promise<string> => {
    const url = await readWellKnown(new URL(site).origin);
    await checkVersions(url);
    return url;
  };
  const plain = `http://${answer}`;
  if (!isUrl && isLoopback(new URL(site).hostname)) {
    // A homeserver on this machine usually has no TLS.
    const found = await checkVersions(plain).then(
      () => plain,
      () => undefined,
    );
    if (found !== undefined) return found;
  }
  // The name of a server usually leads to a website, which gives the URL of the homeserver.
  const [first, second] = isUrl ? [direct, named] : [named, direct];
  try {
    return await first();
  } catch (error) {
    return second().catch(() => {
      const reason = reasonOf(error);
      const withoutTls = isUrl ? undefined : `for a homeserver without TLS, give ${plain}`;
      const advice = certificateAdvice(reason, "the variable NODE_EXTRA_CA_CERTS") ?? withoutTls;
      const how = advice === undefined ? "" : `: ${advice}`;
      throw new Error(`cannot be used: no homeserver answers at ${site} (${reason})${how}`, {
        cause: error,
      });
    });
  }
}

/** Returns the reason why a request failed. Node's `fetch` gives the reason only in the error's `cause`. */
function reasonOf(error: unknown): string {
  const { cause, message } = error as Error & { cause?: { code?: string; message?: string } };
  return cause?.code ?? cause?.message ?? message;
}

/** Rejects if the client API is not at this URL. */
async function checkVersions(url: string): Promise<void> {
  const request = createRequests(url, () => undefined);
  const answer = await request({ method: "GET", path: "/_matrix/client/versions", timeoutMs: WITHIN_MS });
  if (!Array.isArray(fieldsOf(answer)["versions"]))
    throw new Error("the answer contains no versions of Matrix");
}

/** Resolves to the URL that a server announces in `.well-known`. */
async function readWellKnown(site: string): Promise<string> {
  const bytes = await withTimeLimit(WITHIN_MS, undefined, async (signal) => {
    const response = await fetch(`${site}/.well-known/matrix/client`, { signal });
    if (!response.ok)
      throw new Error(`${site}/.well-known/matrix/client is answered with ${response.status}`);
    return readBounded(response.body, WELL_KNOWN_MAX_BYTES);
  });
  const url = fieldsOf(fieldsOf(JSON.parse(bytes.toString("utf8")))["m.homeserver"])["base_url"];
  if (typeof url !== "string" || !/^https?:\/\//.test(url)) throw new Error("it names no homeserver");
  return url.replace(/\/+$/, "");
}
