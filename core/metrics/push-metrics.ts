import { byLabel, countsOf, type Metrics } from "../../runtime/metrics";
import type { PushClient } from "../delivery/push-client";
import { DROP_REASONS, FAILURES, type DropReason } from "../../contract/deliveries";
import type { PushesInHand, PushMeter } from "../ports/meters";

/**
 * Upper bounds of the histogram buckets, in seconds. The last bound is the maximum wait of an event (`WAIT_MAX_MS`). An
 * attempt takes at most 5 s.
 */
const SECONDS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];
const MS_PER_SECOND = 1_000;

export function addPushMetrics({ counter, gauge, histogram }: Metrics) {
  const attempts = countsOf(["success", ...FAILURES]);
  const drops = countsOf([...DROP_REASONS, "failed"]);
  const watched = new Set<() => PushesInHand>();
  const inHand = (of: (pushes: PushesInHand) => number): number =>
    [...watched].reduce((sum, read) => sum + of(read()), 0);
  let inFlight = 0;
  counter("chatbridge_core_push_attempts_total", "Attempts to push, by result.", () =>
    byLabel("result", attempts),
  );
  counter("chatbridge_core_push_drops_total", "Events that were dropped, by reason.", () =>
    byLabel("reason", drops),
  );
  gauge("chatbridge_core_push_in_flight", "Push attempts in progress.", () => inFlight);
  gauge("chatbridge_core_push_waiting", "Events that wait in this core for their first attempt.", () =>
    inHand(({ waiting }) => waiting),
  );
  gauge(
    "chatbridge_core_push_in_hand_bytes",
    "Bytes of the queued events that are in this core's memory.",
    () => inHand(({ bytes }) => bytes),
  );
  const durations = histogram(
    "chatbridge_core_push_attempt_duration_seconds",
    "Duration of attempts to push.",
    SECONDS,
  );
  const waits = histogram(
    "chatbridge_core_push_wait_seconds",
    "Time from the publication of an event to its first attempt.",
    SECONDS,
  );
  const lateness = histogram(
    "chatbridge_core_push_retry_lateness_seconds",
    "Time from when a retry is due until the retry begins.",
    SECONDS,
  );
  const meter: PushMeter = {
    waited: (ms) => waits.observe(Math.max(0, ms) / MS_PER_SECOND),
    retried: (lateMs) => lateness.observe(Math.max(0, lateMs) / MS_PER_SECOND),
    watch(read) {
      watched.add(read);
      return () => watched.delete(read);
    },
  };
  return {
    ...meter,
    /** Wraps a push client so that its attempts are counted. */
    meter: (client: PushClient): PushClient => ({
      ...client,
      async push(attempt) {
        inFlight += 1;
        const outcome = await client.push(attempt);
        inFlight -= 1;
        attempts[outcome.ok ? "success" : outcome.failure] += 1;
        durations.observe(outcome.latencyMs / MS_PER_SECOND);
        return outcome;
      },
    }),
    countDrop: (reason: DropReason | "failed") => void (drops[reason] += 1),
  };
}
