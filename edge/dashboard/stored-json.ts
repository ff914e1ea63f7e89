import { SEND_AGAIN_WORDS } from "../../proto/codes";
import type {
  FailedEvent,
  GetDeliveryResponse,
  SendAgainResponse,
} from "../../proto/gen/chatbridge/v1/workspace";
import type { DeliveryDetailShape, FailedEventShape, SendAgainShape } from "./shapes";
import { there, toDeliveryShape, toText } from "./workspace-json";

export function toDeliveryDetailShape(answer: GetDeliveryResponse): DeliveryDetailShape {
  const { delivery, events, response } = answer;
  return {
    delivery: toDeliveryShape(there(delivery)),
    events: events.map(({ eventId, json, sendAgainUntil }) => ({
      id: eventId,
      json,
      sendAgainUntil: toText(sendAgainUntil),
    })),
    response: response === undefined ? null : { text: response.text, truncated: response.truncated },
  };
}

export function toFailedEventShape(event: FailedEvent): FailedEventShape {
  const { eventId, eventType, failedAt, sendAgainUntil } = event;
  return { eventId, eventType, failedAt: there(toText(failedAt)), sendAgainUntil: toText(sendAgainUntil) };
}

export function toSendAgainShape({ results }: SendAgainResponse): SendAgainShape {
  return {
    results: results.map(({ eventId, outcome }) => ({
      eventId,
      result: there(SEND_AGAIN_WORDS.get(outcome)),
    })),
  };
}
