const PREFIX = "evt_";
/** The characters of a ULID (Crockford's Base32), in the order of their values. */
const CHARACTERS = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";
/** The first characters of a ULID contain the time. */
const TIME_LENGTH = 10;

/** Returns the time in an event id, in ms since the epoch: when the event was published, on the service clock. */
export function eventIdMs(eventId: string): number {
  const time = eventId.slice(PREFIX.length, PREFIX.length + TIME_LENGTH);
  return [...time].reduce((ms, character) => ms * CHARACTERS.length + CHARACTERS.indexOf(character), 0);
}
