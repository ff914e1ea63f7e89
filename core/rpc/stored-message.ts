import { SEND_AGAIN_CODES } from "../../proto/codes";
import type {
  GetDeliveryResponse,
  ListFailedEventsResponse,
  SendAgainResponse,
} from "../../proto/gen/chatbridge/v1/workspace";
import { responseText } from "../domain/response-text";
import type { ListedEvent, SentAgain } from "../operations/failed-events";
import type { DeliveryDetail } from "../operations/read-delivery";
import { toDate, toDeliveryMessage } from "./delivery-message";

export function toDetailMessage({ delivery, events, response }: DeliveryDetail): GetDeliveryResponse {
  return {
    delivery: toDeliveryMessage(delivery),
    events: events.map(({ eventId, json, sendAgainUntilMs }) => ({
      eventId,
      json,
      sendAgainUntil: toDate(sendAgainUntilMs),
    })),
    response: response && { text: responseText(response), truncated: response.isTruncated },
  };
}

export function toFailedMessage(events: readonly ListedEvent[]): ListFailedEventsResponse {
  return {
    events: events.map(({ eventId, eventType, failedAtMs, sendAgainUntilMs }) => ({
      eventId,
      eventType,
      failedAt: new Date(failedAtMs),
      sendAgainUntil: toDate(sendAgainUntilMs),
    })),
  };
}

export function toSentMessage(results: readonly SentAgain[]): SendAgainResponse {
  return {
    results: results.map(({ eventId, result }) => ({ eventId, outcome: SEND_AGAIN_CODES[result] })),
  };
}
