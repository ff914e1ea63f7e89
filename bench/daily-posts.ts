import { DAY_SECONDS } from "../contract/numbers";

/** Sizes of data in Redis, for a service whose only group acks every event. */
export interface Kept {
  /** Bytes that the service uses before the first POST. */
  readonly emptyBytes: number;
  /** Bytes of a request id. */
  readonly idBytes: number;
  /** Bytes of an acked event in the logs; 0 when core removes acked events. */
  readonly ackedBytes: number;
}

const MB = 1024 * 1024;
/** The `maxmemory` of Redis in docker-compose.yml. */
const REDIS_BYTES = 512 * MB;
/**
 * Maximum seconds for which Redis keeps a request id: half a day until the id's hash is complete, plus a day and ten
 * minutes (core/store/functions/append.lua).
 */
const ID_SECONDS = 1.5 * DAY_SECONDS + 600;
const HOUR_SECONDS = 3_600;

/**
 * Returns the number of POSTs per second, on average over a day, for which 512 MB of Redis suffice, and lines that show
 * the calculation.
 */
export function dailyPosts({ emptyBytes, idBytes, ackedBytes }: Kept) {
  const kept = [
    { what: "request id", bytes: idBytes, seconds: ID_SECONDS },
    { what: "acked event in the logs", bytes: ackedBytes, seconds: DAY_SECONDS },
  ];
  const perPost = kept.reduce((sum, { bytes, seconds }) => sum + bytes * seconds, 0);
  const perSecond = (REDIS_BYTES - emptyBytes) / perPost;
  const lines = kept.map(
    ({ what, bytes, seconds }) =>
      `  ${what}: ${bytes.toFixed(1)} bytes for at most ${(seconds / HOUR_SECONDS).toFixed(1)} hours, so ` +
      `${((bytes * seconds) / MB).toFixed(2)} MB for one POST per second`,
  );
  return {
    perSecond,
    lines: [
      ...lines,
      `  (512 MB - ${(emptyBytes / MB).toFixed(1)} MB of an empty service) / ${(perPost / MB).toFixed(2)} MB = ` +
        `${perSecond.toFixed(1)} POSTs per second, averaged over a day, whose events one group acks`,
    ],
  };
}
