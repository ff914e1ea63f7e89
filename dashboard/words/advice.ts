import type { DeliveryShape, Result, Step } from "../../edge/dashboard/shapes";

/** A few words for a result, as a log shows them. */
export const RESULT_WORDS: Readonly<Record<Result, string>> = {
  success: "Accepted",
  dns: "Name not found",
  "refused-address": "Address not public",
  connect: "No connection",
  tls: "TLS failed",
  timeout: "Timed out",
  status: "Refused by bridge",
  body: "Broken answer",
  expired: "Gone stale",
  disconnected: "Disconnected",
  polls: "Polls by now",
  overloaded: "Overloaded",
};

/** Attempts that failed, and events that were given up without one. */
export type Outcome = "success" | "failed" | "dropped";

const DROPPED: ReadonlySet<Result> = new Set(["expired", "disconnected", "polls", "overloaded"]);

export function outcomeOf(result: Result): Outcome {
  if (result === "success") return "success";
  return DROPPED.has(result) ? "dropped" : "failed";
}

type Failed = Exclude<Result, "success" | "status" | "timeout">;

const ADVICE: Readonly<Record<Failed, string>> = {
  dns: "The host's name could not be looked up. Check the spelling of the target URL and the host's DNS records.",
  "refused-address":
    "The host has an address that is not public. Give the bridge a public address, or clear the target URL and let it poll.",
  connect:
    "No connection could be made. Start the bridge, check the port of the target URL, and open that port in the firewall.",
  tls: "TLS could not be agreed on. Serve HTTPS on this port, with a certificate that has not expired, names this host, comes from a public authority and brings its whole chain.",
  body: "The bridge was sent the event, but its answer broke off or was not HTTP. Look at the bridge's own log for a crash, and check that any proxy before it passes answers on.",
  expired:
    "The event went stale before it could be delivered. Send a test event: once the bridge answers in time, the next events arrive.",
  disconnected:
    "The workspace was disconnected while the event was under way. Connect it again if that was not meant.",
  polls:
    "The target URL was cleared while the event was under way. Let the bridge poll, or set the target URL again.",
  overloaded:
    "The event waited more than 10 seconds behind others, or too many waited already. Let the bridge answer faster, or take more requests at once.",
};

/**
 * What to do about a delivery that went wrong, in a sentence or two; undefined when it went well.
 *
 * @param failedStep the step that it did not get past, where that is known
 */
export function adviceFor(
  delivery: Pick<DeliveryShape, "result" | "status" | "address">,
  failedStep?: Step | null,
): string | undefined {
  const { result } = delivery;
  if (result === "success") return undefined;
  if (result === "timeout") return timeoutAdvice(delivery, failedStep);
  return result === "status" ? statusAdvice(delivery.status) : ADVICE[result];
}

/** What to do about the last push of a bridge that fails, and how to see whether it helped. */
export function adviceForLast(delivery: DeliveryShape): string {
  return `${adviceFor(delivery) ?? ""} Then send a test event: it shows every step.`;
}

/** An address that was gone to is known once there is a connection. */
function timeoutAdvice(
  { status, address }: Pick<DeliveryShape, "status" | "address">,
  failedStep: Step | null | undefined,
): string {
  if (address === "") {
    return "No connection was made within 5 seconds. Check the host and the port of the target URL, and let the firewall before the bridge pass connections to that port.";
  }
  if (failedStep === "tls") {
    return "The bridge took the connection, but did not agree on TLS within 5 seconds. Check that it speaks HTTPS on this port and is not overloaded.";
  }
  if (status !== 0) {
    return `The bridge began to answer ${status}, but did not finish within 5 seconds. Let it end its answer at once: an empty body will do.`;
  }
  return "The bridge took the connection, but did not answer within 5 seconds. Let it answer 2xx at once and do slow work afterwards.";
}

function statusAdvice(status: number): string {
  const answered = `The bridge answered ${status} where a 2xx is expected.`;
  if (status >= 300 && status < 400) {
    return `${answered} Redirects are not followed: set the target URL to where it leads.`;
  }
  if (status === 401 || status === 403) {
    return `${answered} Give it this workspace's newest signing secret, and check its clock.`;
  }
  if (status === 404 || status === 405 || status === 410) {
    return `${answered} Check the path of the target URL: it must take POST requests.`;
  }
  if (status === 413) return `${answered} Let it, and any proxy before it, take larger requests.`;
  if (status === 429) return `${answered} Let it, and any proxy before it, take more requests.`;
  if (status >= 500)
    return `${answered} Look at the bridge's own log: the fault is there or in a proxy before it.`;
  return `${answered} Look at the bridge's own log for why it refuses the event.`;
}
