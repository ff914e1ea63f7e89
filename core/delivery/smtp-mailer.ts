import { isEmail } from "../domain/workspace-profile";
import { MailRefused, type Mailer } from "../ports/outside";

const WITHIN_MS = 10_000;
/** Maximum size in bytes of an encoded word in a subject. The standard allows 75 (RFC 2047, section 2). */
const ENCODED_WORD_BYTES = 52;

export interface SmtpOptions {
  /** smtp://user:password@host:port, or smtps://… */
  readonly url: string;
  readonly from: string;
}

export async function createSmtpMailer({ url, from }: SmtpOptions): Promise<Mailer> {
  // Loading the library takes 50 ms at startup, so only a core that sends emails loads it.
  const { createTransport } = await import("nodemailer");
  const { encodeWord } = await import("nodemailer/lib/mime-funcs");
  const transport = createTransport(
    { url, connectionTimeout: WITHIN_MS, greetingTimeout: WITHIN_MS, socketTimeout: WITHIN_MS },
    { from },
  );
  const domain = /@([^\s>]+)/.exec(from)?.[1] ?? "localhost";
  return {
    async send({ messageId, to, subject, text }) {
      // A core of an older release may have stored an address in a different form.
      if (!isEmail(to)) throw new MailRefused(true, new Error("the recipient is not one email address"));
      try {
        await transport.sendMail({
          // `to` is an object, because the library would parse a string as a list of addresses.
          to: { name: "", address: to },
          // The library does not encode a subject that already looks like an encoded word. A workspace's name may
          // contain such text, but mail programs must not decode it.
          subject: subject.includes("=?") ? encodeWord(subject, "Q", ENCODED_WORD_BYTES) : subject,
          text,
          messageId: `<${messageId}@${domain}>`,
        });
      } catch (error) {
        throw isOfTheMail(error) ? new MailRefused(isForGood(error), error) : error;
      }
    },
    close: () => transport.close(),
  };
}

/** The fields that nodemailer adds to an error of an SMTP connection. */
interface SmtpFault {
  readonly code?: unknown;
  readonly command?: unknown;
  readonly responseCode?: unknown;
  /** The unparsed answer of the server. */
  readonly response?: unknown;
}

/**
 * SMTP reply codes that do not depend on the email: the server closes the connection, or requires or rejects a login.
 */
const OF_THE_SERVER: readonly unknown[] = [421, 530, 535, 538];

/**
 * Whether the server rejected the recipient or the message, so that only this email is affected. Returns false if the
 * server rejected the sender, because all emails have the same sender.
 */
function isOfTheMail(error: unknown): error is SmtpFault {
  if (!(error instanceof Error)) return false;
  const { code, command, responseCode } = error as Error & SmtpFault;
  const isRefusal = code === "EENVELOPE" || code === "EMESSAGE";
  return isRefusal && command !== "MAIL FROM" && !OF_THE_SERVER.includes(responseCode);
}

/**
 * SMTP reply codes for an unknown recipient. Other codes may concern the sender: many servers reject a sender only at
 * RCPT TO.
 */
const RECIPIENT_UNKNOWN: readonly number[] = [550, 551, 553];
/** The enhanced status code of a policy rejection, e.g. of a blocked sender. */
const POLICY = /^\d{3}[ -]\d\.7\./;

/**
 * Whether a retry is pointless. An error without an answer from the server means that the email itself is invalid, e.g.
 * because its recipient is invalid.
 */
function isForGood({ responseCode, command, response }: SmtpFault): boolean {
  if (typeof responseCode !== "number") return true;
  if (responseCode < 500 || POLICY.test(String(response))) return false;
  return command !== "RCPT TO" || RECIPIENT_UNKNOWN.includes(responseCode);
}
