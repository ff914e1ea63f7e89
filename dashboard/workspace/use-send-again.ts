import { useEffect, useRef, useState } from "preact/hooks";
import type {
  DeliveryShape,
  FailedEventShape,
  SendAgainShape,
  WorkspaceShape,
} from "../../proto/json/shapes";
import { api, type ApiError } from "../api";
import { useLoad } from "../use-load";
import { whyNotSent } from "../words/send-again-words";

export type SentResults = SendAgainShape["results"];

/** The failed events of a workspace that the service still stores. */
export interface SendAgain {
  /** All stored failed events by id, newest first. */
  readonly failed: ReadonlyMap<string, FailedEventShape>;
  /** The ids of the events that can be sent again now. */
  readonly sendable: ReadonlySet<string>;
  /** The error of the last read, if any. */
  readonly error: ApiError | undefined;
  /** Why no event can be sent again now; undefined if events can be sent. */
  readonly disabled: string | undefined;
  /** Sends events again, oldest failure first, so that a chat gets the messages in their order. Rejects with `ApiError`. */
  send(eventIds: readonly string[]): Promise<SentResults>;
}

/** Minimum milliseconds between two reads of the failed events while pushes fail. */
const READ_EVERY_MS = 2_000;

/**
 * Reads the failed events of a workspace, and reads them again when a push fails or events are sent again.
 *
 * @param deliveries the log, newest first
 */
export function useSendAgain(workspace: WorkspaceShape, deliveries: readonly DeliveryShape[]): SendAgain {
  const { id } = workspace;
  const [sent, setSent] = useState(0);
  const lastFailure = deliveries.find(({ polls, result }) => polls === 0 && result !== "success")?.id;
  const disabled = whyNotSent(workspace);
  const slowed = useSlowed(lastFailure, READ_EVERY_MS);
  const { data = [], error } = useLoad(
    (signal) => api.failedEvents(id, signal, "itself"),
    [id, sent, disabled, slowed],
  );
  const now = Date.now();
  const isSendable = ({ sendAgainUntil }: FailedEventShape): boolean =>
    disabled === undefined && sendAgainUntil !== null && Date.parse(sendAgainUntil) > now;
  return {
    failed: new Map(data.map((each) => [each.eventId, each])),
    sendable: new Set(data.filter(isSendable).map(({ eventId }) => eventId)),
    error,
    disabled,
    async send(eventIds) {
      try {
        const oldestFirst = data.map(({ eventId }) => eventId).toReversed();
        const wanted = new Set(eventIds);
        return (
          await api.sendAgain(
            id,
            oldestFirst.filter((each) => wanted.has(each)),
          )
        ).results;
      } finally {
        setSent((count) => count + 1);
      }
    },
  };
}

/** Returns a value that follows `value` but changes at most once per `everyMs`. */
function useSlowed<T>(value: T, everyMs: number): T {
  const [slowed, setSlowed] = useState(value);
  const changedAt = useRef(-Infinity);
  useEffect(() => {
    const change = setTimeout(
      () => {
        changedAt.current = performance.now();
        setSlowed(() => value);
      },
      Math.max(0, changedAt.current + everyMs - performance.now()),
    );
    return () => clearTimeout(change);
  }, [value, everyMs]);
  return slowed;
}
