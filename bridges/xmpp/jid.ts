/** Maximum length of a room's JID. The JID is the id of the channel, and the contract limits the id. */
export const ROOM_JID_MAX = 128;

/** The parts of a JID. A missing part is "". */
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

/** Returns a JID without the resource. Servers ignore case when they compare such JIDs. */
export function bareJid(jid: string): string {
  const slash = jid.indexOf("/");
  return (slash === -1 ? jid : jid.slice(0, slash)).toLowerCase();
}
