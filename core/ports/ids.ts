/** Mints the ids of events, messages and workspaces, and signing secrets. */
export interface Ids {
  /** `evt_` and a ULID. */
  event(): string;
  /** `msg_` and a ULID. */
  message(): string;
  /** A lower-case uuid. */
  workspace(): string;
  /** A signing secret: 256 random bits as printable text. */
  secret(): string;
  /** Names one stream, process or lease among all others. */
  token(): string;
}
