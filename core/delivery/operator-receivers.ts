import type { OperatorEvent } from "../domain/operator-event";
import type { HmacKey } from "../domain/hmac-key";
import { signatureHeader } from "../domain/signature";
import { activeOperatorKeys, isHook } from "../domain/workspace";
import {
  MailRefused,
  type Clock,
  type Mailer,
  type OperatorReceiver,
  type OperatorReceivers,
  type OperatorSent,
} from "../ports/outside";
import type { PushClient } from "./push-client";
import { createFairSlots, SlotsFull } from "../domain/fair-slots";

/**
 * Maximum number of operator events that a core sends to addresses of workspaces at the same time: in total, and for
 * one workspace. `inAll` is twice one token's share of `OUTSIDE_CALLS_MAX`, so that tests with one token leave slots
 * free for other events.
 */
const WORKSPACE_SLOTS = { inAll: 128, ofOne: 2 } as const;
/**
 * Maximum number of tests of one workspace that wait for a slot. Each waiting test has an event of at most 2 KB. Core
 * sends the other operator events of a workspace one at a time, so at most one of these waits for a slot, and this
 * limit never rejects it.
 */
const WAITING_TESTS_MAX = 8;

/** The installation's addresses, which get the operator events of all workspaces. */
export interface InstallationAddresses {
  /** An https URL, and the keys that sign the requests to it, newest first. */
  readonly hook?: { readonly url: URL; readonly keys: readonly HmacKey[] } | undefined;
  readonly mail?: string | undefined;
}

export interface OperatorReceiversContext {
  readonly now: Clock;
  /** A client for operator events only, so that they do not share connections with pushes. */
  readonly hookClient: Pick<PushClient, "push">;
  /** Undefined without a mail server. */
  readonly mailer: Mailer | undefined;
  readonly installation: InstallationAddresses;
}

/** Creates the receivers of operator events (docs/operator-events.md). */
export function createOperatorReceivers(context: OperatorReceiversContext): OperatorReceivers {
  const { installation, mailer } = context;
  const slots = createFairSlots(WORKSPACE_SLOTS);
  const ofInstallation: OperatorReceiver[] = [];
  // Slow addresses of workspaces never delay events to the few addresses of the installation.
  const atOnce: Pick<OperatorReceiver, "inTurn" | "testInTurn"> = {
    inTurn: (task) => task(),
    testInTurn: (task) => task(),
  };
  const inSlotOf = (id: string): Pick<OperatorReceiver, "inTurn" | "testInTurn"> => ({
    inTurn: (task) => slots.run(id, task),
    async testInTurn(task, signal) {
      try {
        return await slots.run(id, task, { signal, waitingMax: WAITING_TESTS_MAX });
      } catch (error) {
        if (error instanceof SlotsFull) return "full";
        throw error;
      }
    },
  });
  if (installation.hook !== undefined) {
    const { url, keys } = installation.hook;
    const send = hookSender(context, url, () => keys);
    ofInstallation.push({ key: "installation-hook", kind: "hook", send, ...atOnce });
  }
  if (installation.mail !== undefined && mailer !== undefined) {
    const send = mailSender(mailer, installation.mail);
    ofInstallation.push({ key: "installation-mail", kind: "mail", send, ...atOnce });
  }
  return {
    ofInstallation,
    ofWorkspace(workspace) {
      const address = workspace.operatorEvents?.address ?? "";
      if (address === "") return undefined;
      const own = { key: workspace.id, ...inSlotOf(workspace.id) };
      if (!isHook(address)) {
        return { ...own, kind: "mail", send: mailer ? mailSender(mailer, address) : sendNoMail };
      }
      const keys = () => activeOperatorKeys(workspace, context.now());
      return { ...own, kind: "hook", send: hookSender(context, new URL(address), keys) };
    },
  };
}

function hookSender(
  { hookClient, now }: OperatorReceiversContext,
  url: URL,
  keysNow: () => readonly HmacKey[],
): OperatorReceiver["send"] {
  return async ({ id, workspaceId, json }, signal) => {
    const envelope = Buffer.from(json);
    const keys = keysNow();
    if (keys.length === 0) return { became: "failed", detail: "no key in SECRETS_KEY decrypts the secret" };
    const signature = signatureHeader(envelope, keys, now());
    const outcome = await hookClient.push({ url, eventId: id, workspaceId, signature, envelope, signal });
    return outcome.ok
      ? { became: "accepted", detail: String(outcome.status) }
      : // The client of pushes calls each receiver a bridge.
        { became: "failed", detail: outcome.detail.replaceAll("the bridge", "the receiver") };
  };
}

function mailSender(mailer: Mailer, to: string): OperatorReceiver["send"] {
  return async ({ id, json, subject }: OperatorEvent): Promise<OperatorSent> => {
    const text = `${JSON.stringify(JSON.parse(json), undefined, 2)}\n`;
    try {
      await mailer.send({ to, subject, text, messageId: id });
      return { became: "accepted", detail: "the mail server accepted the email" };
    } catch (error) {
      const isForGood = error instanceof MailRefused && error.isForGood;
      return isForGood
        ? { became: "refused", detail: "the mail server rejected the email permanently" }
        : { became: "failed", detail: "the mail server did not accept the email" };
    }
  };
}

const sendNoMail: OperatorReceiver["send"] = async () => ({
  became: "refused",
  detail: "core has no mail server: set SMTP_URL",
});
