import type { DeliveryShape } from "../../proto/json/shapes";
import { placeOf } from "../words/event-words";

/**
 * Shows the place and the text of an event's message, or the event's type if both are empty. Games choose these texts,
 * so each text is isolated: right-to-left letters do not move the words around them.
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
