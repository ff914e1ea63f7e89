/**
 * A function of the `chat` throws this error when the chat refuses the message now, and gives a time for the retry.
 * After any other error except `CannotShow`, the kit retries after 1 s, 2 s, 4 s, … up to 30 s. `update` is never
 * retried.
 */
export class RetryLater extends Error {
  override readonly name = "RetryLater";
  constructor(
    /** Minimum wait before the retry, ms. */
    readonly retryAfterMs: number,
    message = `the chat allows the next request in ${retryAfterMs} ms`,
  ) {
    super(message);
  }
}

/**
 * A function of the `chat` throws this error when the chat will never accept the message, e.g. because the bridge was
 * removed from the channel, or the member blocks direct messages. The event is then dropped. If the event created a
 * message, later updates of the message are dropped too.
 */
export class CannotShow extends Error {
  override readonly name = "CannotShow";
}
