import { newestFirst } from "../domain/delivery";
import { eventIdMs } from "../domain/event-id";
import type { EventTracesReader } from "../ports/event-traces";
import { decodeFailed, decodePolls, decodeResponse, isKept, toLogged } from "./delivery-log";
import type { Functions } from "./functions";
import type { Keys } from "./keys";
import { unpackEvent } from "./packed-event";
import { asBytes, asList, asNumber, asText } from "./redis/reply";

/** Reads what the store contains about one event: see functions/event.lua. */
export function createEventTraces(functions: Functions, keys: Keys, now: () => number): EventTracesReader {
  return {
    async read(workspaceId, eventId) {
      const args = [workspaceId, eventId, String(eventIdMs(eventId))];
      const reply = await functions.call("read_event", keys.prefixOf(workspaceId), args);
      const [held = [], queued = [], failed = [], lines = [], pushes = [], sends = []] =
        asList(reply).map(asList);
      const [json, heldBy, fetched] = held;
      const [packed, queuedBy] = queued;
      const [kept, failedAt] = failed;
      const attempts = pushes.map((entry) => {
        const [id, delivery, response] = asList(entry);
        return {
          delivery: toLogged(asText(id), asText(delivery)),
          response: decodeResponse(asBytes(response)),
        };
      });
      const polls = lines.map((line) => ({ delivery: decodePolls(asText(line)), response: undefined }));
      return {
        held:
          json === undefined
            ? undefined
            : {
                envelope: asBytes(json),
                publisher: asText(heldBy),
                isFetched: asNumber(fetched) === 1,
              },
        queued:
          packed === undefined
            ? undefined
            : {
                envelope: unpackEvent(asBytes(packed)).envelope,
                publisher: asText(queuedBy),
              },
        failed: kept && failedAt ? decodeFailed(asBytes(kept), asNumber(failedAt)) : undefined,
        attempts: [...attempts, ...polls]
          .filter(({ delivery }) => isKept(delivery, now()))
          .toSorted((a, b) => newestFirst(b.delivery, a.delivery)),
        sentAgain: sends.map((send) => {
          const [ms, by] = asList(send).map(asText);
          return { atMs: Number(ms), by: by ?? "" };
        }),
      };
    },
  };
}
