import type { DeliveryShape } from "../../proto/json/shapes";
import { placeOf } from "../words/event-words";

/**
 * Says which message an event is about, or else its type. A game chose the texts, so each text is isolated: letters that
 * are written from right to left do not move the words around them.
 */
export function EventName({ summary, eventType }: Pick<DeliveryShape, "summary" | "eventType">) {
  const place = summary === null ? "" : placeOf(summary);
  const text = summary?.text ?? "";
  if (place === "" && text === "") return <>{eventType}</>;
  return (
    <>
      {place !== "" && <bdi class="event-place">{place}</bdi>}
      {place !== "" && text !== "" && " · "}
      {text !== "" && <bdi>{text}</bdi>}
    </>
  );
}
