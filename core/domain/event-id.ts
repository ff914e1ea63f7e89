const PREFIX = "evt_";
/** The characters of a ULID (Crockford's Base32), in the order of their values. */
const CHARACTERS = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";
/** Number of characters at the start of a ULID that encode the time. */
const TIME_LENGTH = 10;

/** Returns the time in an event id: when the event was published, in ms since the epoch on the service clock. */
export function eventIdMs(eventId: string): number {
  const time = eventId.slice(PREFIX.length, PREFIX.length + TIME_LENGTH);
  return [...time].reduce((ms, character) => ms * CHARACTERS.length + CHARACTERS.indexOf(character), 0);
}
