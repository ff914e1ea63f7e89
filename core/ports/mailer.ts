export interface Mail {
  readonly to: string;
  readonly subject: string;
  readonly text: string;
  /** Names the mail: sent twice, it is one mail for whoever reads by it. */
  readonly messageId: string;
}

/** The mail server is there, but does not take this mail on: others may fare better. The cause says why. */
export class MailRefused extends Error {
  override readonly name = "MailRefused";
  constructor(
    /** No further try will change it. */
    readonly isForGood: boolean,
    cause: unknown,
  ) {
    super("the mail was refused", { cause });
  }
}

/** Sends mail. */
export interface Mailer {
  /** Throws when the mail was not taken on: MailRefused when that is for its own sake. */
  send(mail: Mail): Promise<void>;
  close(): void;
}
