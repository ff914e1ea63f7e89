import type { SecureContext } from "node:tls";
import type { Logger } from "pino";
import type { CoreConfig } from "./config";
import { createOperatorReceivers } from "./delivery/operator-receivers";
import { createTargetUrlCheck } from "./delivery/public-host";
import { createPushClient } from "./delivery/push-client";
import { createSmtpMailer } from "./delivery/smtp-mailer";
import { createNameLookup } from "./delivery/system-names";
import type { Clock, Mailer, NameLookup } from "./ports/outside";

/** Creates the clients with which core contacts bridges, receivers of operator events, and owners of workspaces. */
export async function createOutside(
  config: CoreConfig,
  now: Clock,
  names: NameLookup | undefined,
  secureContext: () => SecureContext,
  log: Logger,
) {
  const { mail, operatorEvents } = config;
  // Each client has its own name lookups, so that no client can occupy the lookup slots of another client.
  const createHosts = () => ({
    names: names ?? createNameLookup({ servers: config.dnsServers }),
    allow: config.pushAllow,
  });
  const mailer = mail ? await createSmtpMailer({ url: mail.smtpUrl, from: mail.from }) : loggedMail(log);
  const pushClient = createPushClient({ ...createHosts(), secureContext });
  // A separate client, so that operator events and pushes do not share connections or metrics.
  const hookClient = createPushClient({ ...createHosts(), secureContext });
  return {
    pushClient,
    mailer,
    operatorReceivers: createOperatorReceivers({
      now,
      hookClient,
      mailer: mail && mailer,
      installation: operatorEvents,
    }),
    targetUrlCheck: createTargetUrlCheck(createHosts()),
    async close(): Promise<void> {
      await hookClient.close();
      mailer.close();
      await pushClient.close();
    },
  };
}

/** Returns a mailer that logs emails, for a core without a mail server. */
function loggedMail(log: Logger): Mailer {
  return {
    send: async ({ to, subject, text }) =>
      // The log suppresses repeated messages. The log message contains the owner's address, so that emails to
      // different owners have different log messages.
      log.warn({ to, subject, text }, `email to ${to}, logged because SMTP_URL is not set`),
    close: () => undefined,
  };
}
