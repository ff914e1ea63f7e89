export interface Mail {
  readonly to: string;
  readonly subject: string;
  readonly text: string;
  /** Names the mail: sent twice, it is one mail for whoever reads by it. */
  readonly messageId: string;
}

/** Sends mail. */
export interface Mailer {
  /** Throws when the mail was not taken on. */
  send(mail: Mail): Promise<void>;
  close(): void;
}
