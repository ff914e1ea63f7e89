import { status } from "@grpc/grpc-js";
import type { FollowDeadLetter, FollowNack, FollowOpen } from "../../proto/gen/chatbridge/v1/game";
import { isBlank } from "../domain/blank-text";
import { StatusError } from "./status";

type Duration = NonNullable<FollowNack["delay"]>;

const NAME_FORM = /^[A-Za-z0-9._-]{1,64}$/;
const WINDOW_MAX = 1_000;
const ACK_DEADLINE_DEFAULT_MS = 30_000;
const ACK_DEADLINE_MIN_MS = 1_000;
const ACK_DEADLINE_MAX_MS = 600_000;
const NACK_DELAY_MAX_MS = 600_000;
const REASON_MAX = 200;
/** Control characters, line separators, and characters that change the direction of the text around them. */
const CONTROL = /[\p{Cc}\u2028\u2029\u202a-\u202e\u2066-\u2069]/gu;

export function readOpen({ group, consumer, window, ackDeadline, assignments }: FollowOpen) {
  const ackDeadlineMs = ackDeadline ? msOf(ackDeadline) : ACK_DEADLINE_DEFAULT_MS;
  const fault = !NAME_FORM.test(group)
    ? "open.group must be 1 to 64 characters of A-Z a-z 0-9 . _ -"
    : !NAME_FORM.test(consumer)
      ? "open.consumer must be 1 to 64 characters of A-Z a-z 0-9 . _ -"
      : window < 1 || window > WINDOW_MAX
        ? `open.window must be 1 to ${WINDOW_MAX}`
        : ackDeadlineMs < ACK_DEADLINE_MIN_MS || ackDeadlineMs > ACK_DEADLINE_MAX_MS
          ? "open.ack_deadline must be 1 second to 10 minutes"
          : undefined;
  if (fault !== undefined) throw new StatusError(status.INVALID_ARGUMENT, fault);
  return { group, consumer, window, ackDeadlineMs, assignments };
}

/** Returns the delay of a nack in ms. */
export function readNackDelay({ delay }: FollowNack): number {
  const delayMs = delay ? msOf(delay) : 0;
  if (delayMs >= 0 && delayMs <= NACK_DELAY_MAX_MS) return delayMs;
  throw new StatusError(status.INVALID_ARGUMENT, "nack.delay must be 0 to 10 minutes");
}

/** Returns the reason of a dead letter without control characters. */
export function readReason({ reason }: FollowDeadLetter): string {
  const length = Array.from(reason).length;
  if (length > REASON_MAX) {
    throw new StatusError(
      status.INVALID_ARGUMENT,
      `dead_letter.reason has ${length} characters: it must have 1 to ${REASON_MAX}, so shorten it`,
    );
  }
  if (isBlank(reason)) {
    throw new StatusError(
      status.INVALID_ARGUMENT,
      `dead_letter.reason is blank: say in 1 to ${REASON_MAX} characters why the game gives up the event`,
    );
  }
  return reason.replace(CONTROL, "");
}

function msOf({ seconds, nanos }: Duration): number {
  return seconds * 1000 + nanos / 1e6;
}
