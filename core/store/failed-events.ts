import { SEND_AGAIN_RESULTS } from "../../contract/deliveries";
import type { FailedEvents } from "../ports/delivery-log";
import type { Functions } from "./functions";
import type { Keys } from "./keys";
import type { OutboundEventsOptions } from "./outbound-events";
import { asList, asOneOf, asText } from "./redis/reply";

export function createFailedEvents(
  functions: Functions,
  keys: Keys,
  { pushQueueMax, pushQueueMaxBytes }: Pick<OutboundEventsOptions, "pushQueueMax" | "pushQueueMaxBytes">,
): FailedEvents {
  const bounds = [pushQueueMax, pushQueueMaxBytes].map(String);
  return {
    async list(workspaceId) {
      const reply = await functions.call("read_failed", keys.prefixOf(workspaceId), [workspaceId]);
      return asList(reply).map((entry) => {
        const [eventId, eventType, failedAt, expires] = asList(entry).map(asText);
        return {
          eventId: eventId ?? "",
          eventType: eventType ?? "",
          failedAtMs: Number(failedAt),
          expiresAtMs: expires === "" ? null : Number(expires),
        };
      });
    },
    async sendAgain(workspaceId, eventIds, by) {
      const args = [...bounds, workspaceId, by, ...eventIds];
      const reply = await functions.call("send_again", keys.prefixOf(workspaceId), args);
      return reply === null ? undefined : asList(reply).map((each) => asOneOf(each, SEND_AGAIN_RESULTS));
    },
  };
}
