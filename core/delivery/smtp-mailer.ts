import { createTransport } from "nodemailer";
import type { Mailer } from "../ports/mailer";

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
      await transport.sendMail({ ...mail, messageId: `<${messageId}@${domain}>` });
    },
    close: () => transport.close(),
  };
}
