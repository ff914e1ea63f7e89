export interface Mail {
  readonly to: string;
  readonly subject: string;
  readonly text: string;
  /** Identifies the email. A mail program can use it to drop a second copy. */
  readonly messageId: string;
}

/** This email cannot be sent, but others can, e.g. the mail server rejects its recipient. `cause` has the reason. */
export class MailRefused extends Error {
  override readonly name = "MailRefused";
  constructor(
    /** Whether every retry would fail too. */
    readonly isForGood: boolean,
    cause: unknown,
  ) {
    super("the email was rejected", { cause });
  }
}

/** Sends email. */
export interface Mailer {
  /** Throws when the email was not accepted: `MailRefused` when the reason is this email, else another error. */
  send(mail: Mail): Promise<void>;
  close(): void;
}
