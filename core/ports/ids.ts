/** Creates the ids of events, messages and workspaces, and signing secrets. */
export interface Ids {
  /** Returns `evt_` and a ULID. */
  event(): string;
  /** Returns `msg_` and a ULID. */
  message(): string;
  /** Returns a lower-case UUID. */
  workspace(): string;
  /** Returns a signing secret: 256 random bits as printable text. */
  secret(): string;
  /** Returns a unique name for a stream, a process or a lease. */
  token(): string;
}
