import type { AttemptStep, DeliveryResult } from "../../contract/deliveries";
import { PUSH_DEADLINE_MS } from "../../contract/numbers";
import type { DeliveryShape } from "../../proto/json/shapes";

const DEADLINE_SECONDS = PUSH_DEADLINE_MS / 1_000;

type Failed = Exclude<DeliveryResult, "success" | "status" | "timeout">;

const ADVICE: Readonly<Record<Failed, string>> = {
  dns: "The host's name could not be looked up. Check the spelling of the target URL and the host's DNS records.",
  "refused-address":
    "The host has an address that is not public. Give the bridge a public address, or clear the target URL and let the bridge poll.",
  connect:
    "No connection could be made. Start the bridge, check the port of the target URL, and open that port in the firewall.",
  tls: "The TLS handshake failed. Serve HTTPS on the port of the target URL. The certificate must name the host of the URL, be from a public authority, include the full chain, and not be expired.",
  body: "The event was sent, but the bridge's response was cut off or was not HTTP. Check the bridge's log for a crash, and check that any proxy in front of the bridge forwards responses.",
  expired:
    "The event expired before it could be delivered. Send a test event: once the bridge answers in time, the next events arrive.",
  disconnected:
    "The workspace was disconnected before the event was delivered. Connect it again if this was not intended.",
  polls:
    "The target URL was cleared before the event was delivered. Let the bridge poll, or set the target URL again.",
  overloaded:
    "An attempt waited more than 10 seconds behind other events, or too many events were already waiting. Make the bridge answer faster, or handle more requests at the same time.",
  outage:
    "The service was down, and no attempt could begin within 10 seconds. The bridge is not the cause. Send the event again if it is still needed.",
};

/**
 * Returns a few sentences on what to do about a failed delivery; undefined for a successful delivery.
 *
 * @param failedStep the step that failed, if known
 */
export function adviceFor(
  delivery: Pick<DeliveryShape, "result" | "status" | "address">,
  failedStep?: AttemptStep | null,
): string | undefined {
  const { result } = delivery;
  if (result === "success") return undefined;
  if (result === "timeout") return timeoutAdvice(delivery, failedStep);
  return result === "status" ? statusAdvice(delivery.status) : ADVICE[result];
}

/** Returns the advice for the last push of a failing bridge, and how to check that the advice helped. */
export function adviceForLast(delivery: DeliveryShape): string {
  return `${adviceFor(delivery) ?? ""} Then send a test event: it shows every step.`;
}

/** Returns the advice for a timeout. `address` is empty when no connection was made. */
function timeoutAdvice(
  { status, address }: Pick<DeliveryShape, "status" | "address">,
  failedStep: AttemptStep | null | undefined,
): string {
  if (address === "") {
    return `No connection was made within ${DEADLINE_SECONDS} seconds. Check the host and the port of the target URL, and open that port in the bridge's firewall.`;
  }
  if (failedStep === "tls") {
    return `The bridge accepted the connection, but the TLS handshake did not finish within ${DEADLINE_SECONDS} seconds. Check that the bridge serves HTTPS on the port of the target URL and is not overloaded.`;
  }
  if (status !== 0) {
    return `The bridge began to answer with ${status}, but did not finish within ${DEADLINE_SECONDS} seconds. Make it finish the response immediately: an empty body is enough.`;
  }
  return `The bridge accepted the connection, but did not answer within ${DEADLINE_SECONDS} seconds. Make it answer with 2xx immediately, before slow work.`;
}

function statusAdvice(status: number): string {
  const answered = `The bridge answered with ${status} instead of 2xx.`;
  if (status >= 300 && status < 400) {
    return `${answered} Redirects are not followed: set the target URL to the redirect's destination.`;
  }
  if (status === 401 || status === 403) {
    return `${answered} Give the bridge this workspace's newest signing secret, and check its clock.`;
  }
  if (status === 404 || status === 405 || status === 410) {
    return `${answered} Check the path of the target URL: it must accept POST requests.`;
  }
  if (status === 409) {
    return `${answered} A bridge answers so if the time in a signature is more than 5 minutes off: check the bridge's clock.`;
  }
  if (status === 413)
    return `${answered} Let the bridge, and any proxy in front of the bridge, accept larger requests.`;
  if (status === 429)
    return `${answered} Let the bridge, and any proxy in front of the bridge, accept more requests.`;
  if (status >= 500)
    return `${answered} Check the bridge's own log: the error is in the bridge itself or in a proxy in front of the bridge.`;
  return `${answered} Check the bridge's own log for the reason.`;
}
