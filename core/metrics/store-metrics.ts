import { SECONDS_BUCKETS, SIZE_BUCKETS, type Metrics } from "../../runtime/metrics";
import type { Clock } from "../ports/outside";
import type { StoreMeter } from "../ports/meters";

/** The Redis functions that every scrape contains. Other functions are included after their first call. */
const BATCHED = ["admit", "append", "page", "publish", "record_pushes", "get_workspaces"];

const MS_PER_SECOND = 1_000;
const US_PER_SECOND = 1_000_000;

export function addStoreMetrics({ counter, gauge, histograms }: Metrics) {
  let clock: Clock | undefined;
  let newestSequence = 0;
  let connections = 0;
  let faults = 0;
  const failures = new Map<string, number>(BATCHED.map((name) => [name, 0]));
  const durations = histograms(
    "chatbridge_core_store_call_duration_seconds",
    "Duration of calls to Redis, by function; one call serves all requests of a batch.",
    SECONDS_BUCKETS,
    "function",
    BATCHED,
  );
  const sizes = histograms(
    "chatbridge_core_store_batch_size",
    "Requests in one call to Redis, by function.",
    SIZE_BUCKETS,
    "function",
    BATCHED,
  );
  counter("chatbridge_core_store_call_failures_total", "Calls to Redis without an answer, by function.", () =>
    [...failures].map(([name, value]) => ({ labels: { function: name }, value })),
  );
  counter(
    "chatbridge_core_redis_connections_total",
    "Connections made to Redis, including the first connections.",
    () => connections,
  );
  counter(
    "chatbridge_core_redis_connection_faults_total",
    "Connections to Redis that broke or could not be made.",
    () => faults,
  );
  gauge(
    "chatbridge_core_sequence_ahead_seconds",
    "Seconds by which this core's highest sequence is ahead of the service clock; 0 if it is not ahead.",
    () => clock && Math.max(0, newestSequence / US_PER_SECOND - clock() / MS_PER_SECOND),
  );
  gauge(
    "chatbridge_core_clock_difference_seconds",
    "Seconds by which the clock of this core's machine is ahead of the clock of Redis; negative if it is behind.",
    () => clock && (Date.now() - clock()) / MS_PER_SECOND,
  );
  const meter: Omit<StoreMeter, "rejected"> = {
    called(name, items, ms, isAnswered) {
      durations(name).observe(ms / MS_PER_SECOND);
      if (items !== undefined) sizes(name).observe(items);
      if (!isAnswered) failures.set(name, (failures.get(name) ?? 0) + 1);
    },
    minted(sequence) {
      if (sequence > newestSequence) newestSequence = sequence;
    },
    connected: () => void (connections += 1),
    disconnected: () => void (faults += 1),
  };
  /** Starts comparing sequences with the service clock. */
  const begin = (now: Clock) => void (clock = now);
  return { ...meter, begin };
}
