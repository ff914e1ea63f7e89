/** Maximum length of a room's JID, because the JID is the id of the channel in the contract. */
export const ROOM_JID_MAX = 128;

/** The parts of a JID; "" for a missing part. */
export interface Jid {
  readonly local: string;
  readonly domain: string;
  readonly resource: string;
}

/** Returns the parts of a JID such as "games@rooms.example.org/Ann". The resource can contain any characters. */
export function readJid(jid: string): Jid {
  const slash = jid.indexOf("/");
  const bare = slash === -1 ? jid : jid.slice(0, slash);
  const at = bare.indexOf("@");
  return {
    local: at === -1 ? "" : bare.slice(0, at),
    domain: bare.slice(at + 1),
    resource: slash === -1 ? "" : jid.slice(slash + 1),
  };
}

/** Returns a JID without the resource. Servers compare the rest without regard to case. */
export function bareJid(jid: string): string {
  const slash = jid.indexOf("/");
  return (slash === -1 ? jid : jid.slice(0, slash)).toLowerCase();
}
