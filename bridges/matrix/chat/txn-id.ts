/**
 * The transaction ids of the texts that an update sends. The ids are derived from the id of the service's event, so a
 * repeated request after a crash has no effect. The transaction id of an edit is the id of the service's event itself.
 */

/** The transaction id of a new question, which an update posts as a message. */
export const questionTxn = (eventId: string): string => `${eventId}.question`;

/** The transaction id of the edit that closes the message before a new question. */
export const closingTxn = (eventId: string): string => `${eventId}.closing`;

/** Returns the id of the service's event that caused a text. Other transaction ids are returned unchanged. */
export function causeOf(txnId: string): string {
  return txnId.replace(/\.(?:question|closing)$/, "");
}
