import type { InvitedRoom, JoinedRoom, KeyChanges, MatrixEvent, SyncAnswer } from "./events";
import { fieldsOf, isFields, listOf, textsOf, type Fields } from "./fields";

/** Called with the event's id, if any, when an event is skipped because a field is missing or has a wrong type. */
export type OnSkipped = (eventId: string | undefined) => void;

/**
 * Returns the answer of a sync. A field of the wrong type counts as missing, and an event with such a field is skipped,
 * because a faulty homeserver must not stop the bridge. Throws if the answer has no position.
 */
export function readSync(answer: unknown, onSkipped: OnSkipped): SyncAnswer {
  const { next_batch, account_data, rooms } = fieldsOf(answer);
  if (typeof next_batch !== "string") throw new Error("the answer to the sync has no position");
  const { join, invite, leave } = fieldsOf(rooms);
  const readJoined = (room: unknown): JoinedRoom => {
    const { timeline, state } = fieldsOf(room);
    const { events, limited, prev_batch } = fieldsOf(timeline);
    return {
      timeline: {
        events: readEvents(events, onSkipped),
        limited: limited === true,
        ...(typeof prev_batch === "string" && { prev_batch }),
      },
      state: { events: readEvents(fieldsOf(state)["events"], onSkipped) },
    };
  };
  const readInvited = (room: unknown): InvitedRoom => {
    const { events } = fieldsOf(fieldsOf(room)["invite_state"]);
    // The events of an invite have no ids.
    const withIds = listOf(events).map((event) => ({ event_id: "", ...fieldsOf(event) }));
    return { invite_state: { events: readEvents(withIds, onSkipped) } };
  };
  return {
    next_batch,
    keys: readKeyChanges(fieldsOf(answer)),
    account_data: {
      events: listOf(fieldsOf(account_data)["events"]).map((event) => {
        const { type, content } = fieldsOf(event);
        return { type: String(type), content: fieldsOf(content) };
      }),
    },
    rooms: {
      join: mapValues(fieldsOf(join), readJoined),
      invite: mapValues(fieldsOf(invite), readInvited),
      leave: mapValues(fieldsOf(leave), readJoined),
    },
  };
}

function readKeyChanges(answer: Fields): KeyChanges {
  const { changed, left } = fieldsOf(answer["device_lists"]);
  const counts = Object.entries(fieldsOf(answer["device_one_time_keys_count"]));
  const fallback = answer["device_unused_fallback_key_types"];
  return {
    toDevice: listOf(fieldsOf(answer["to_device"])["events"]).filter(isFields),
    changed: textsOf(changed),
    left: textsOf(left),
    oneTimeKeys: Object.fromEntries(
      counts.filter((entry): entry is [string, number] => typeof entry[1] === "number"),
    ),
    unusedFallbackKeys: fallback === undefined ? undefined : textsOf(fallback),
  };
}

/** Returns the elements of a list that have the fields and types of an event. */
export function readEvents(list: unknown, onSkipped: OnSkipped): readonly MatrixEvent[] {
  return listOf(list).flatMap((value) => {
    const event = readEvent(fieldsOf(value));
    if (event === undefined) {
      const { event_id: id } = fieldsOf(value);
      onSkipped(typeof id === "string" ? id : undefined);
    }
    return event ?? [];
  });
}

function readEvent(fields: Fields): MatrixEvent | undefined {
  const { type, event_id, sender, origin_server_ts: atMs, state_key, content } = fields;
  if (typeof type !== "string" || typeof event_id !== "string" || typeof sender !== "string")
    return undefined;
  if (!isFields(content) || !(state_key === undefined || typeof state_key === "string")) return undefined;
  const { prev_content, transaction_id } = fieldsOf(fields["unsigned"]);
  return {
    type,
    event_id,
    sender,
    content,
    ...(typeof atMs === "number" && { origin_server_ts: atMs }),
    ...(state_key !== undefined && { state_key }),
    unsigned: {
      ...(isFields(prev_content) && { prev_content }),
      ...(typeof transaction_id === "string" && { transaction_id }),
    },
  };
}

function mapValues<T>(fields: Fields, read: (value: unknown) => T): Readonly<Record<string, T>> {
  return Object.fromEntries(Object.entries(fields).map(([name, value]) => [name, read(value)]));
}
