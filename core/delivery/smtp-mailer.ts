import { createTransport } from "nodemailer";
import { MailRefused, type Mailer } from "../ports/mailer";

const WITHIN_MS = 10_000;

export interface SmtpOptions {
  /** smtp://user:password@host:port, or smtps://… */
  readonly url: string;
  readonly from: string;
}

export function createSmtpMailer({ url, from }: SmtpOptions): Mailer {
  const transport = createTransport(
    { url, connectionTimeout: WITHIN_MS, greetingTimeout: WITHIN_MS, socketTimeout: WITHIN_MS },
    { from },
  );
  const domain = /@([^\s>]+)/.exec(from)?.[1] ?? "localhost";
  return {
    async send({ messageId, ...mail }) {
      try {
        await transport.sendMail({ ...mail, messageId: `<${messageId}@${domain}>` });
      } catch (error) {
        throw isOfTheMail(error) ? new MailRefused(isForGood(error), error) : error;
      }
    },
    close: () => transport.close(),
  };
}

/** What an error says of the dialogue with the server, where it came that far. */
interface SmtpFault {
  readonly code?: unknown;
  readonly command?: unknown;
  readonly responseCode?: unknown;
  /** The server's answer as it came. */
  readonly response?: unknown;
}

/** The server closes the connection, or wants a login: whatever the mail. */
const OF_THE_SERVER: readonly unknown[] = [421, 530, 535, 538];

/** Whether it is the recipient or the message that is not taken. A sender is that of all mails. */
function isOfTheMail(error: unknown): error is SmtpFault {
  if (!(error instanceof Error)) return false;
  const { code, command, responseCode } = error as Error & SmtpFault;
  const isRefusal = code === "EENVELOPE" || code === "EMESSAGE";
  return isRefusal && command !== "MAIL FROM" && !OF_THE_SERVER.includes(responseCode);
}

/** That the recipient is not known: many servers keep what they have against the sender until he is named, too. */
const RECIPIENT_UNKNOWN: readonly number[] = [550, 551, 553];
/** The enhanced code of a policy, as against the sender's address. */
const POLICY = /^\d{3}[ -]\d\.7\./;

/** Without an answer it is the mail that cannot be sent, such as to an address that is none. */
function isForGood({ responseCode, command, response }: SmtpFault): boolean {
  if (typeof responseCode !== "number") return true;
  if (responseCode < 500 || POLICY.test(String(response))) return false;
  return command !== "RCPT TO" || RECIPIENT_UNKNOWN.includes(responseCode);
}
